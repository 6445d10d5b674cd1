// Starts Tilewright's language server for .tile files. `npm install` in this folder installs its
// only dependency; without it the extension only highlights.
const vscode = require("vscode");

let client;

async function activate() {
  let languageClient;
  try {
    languageClient = require("vscode-languageclient/node");
  } catch {
    return;
  }
  const settings = vscode.workspace.getConfiguration("tilewright");
  const server = {command: settings.get("path"), args: ["lsp"]};
  client = new languageClient.LanguageClient("tilewright", "Tilewright", {run: server, debug: server}, {
    documentSelector: [{language: "tile"}],
    initializationOptions: {device: settings.get("device")},
  });
  await client.start();
}

async function deactivate() {
  await client?.stop();
}

module.exports = {activate, deactivate};
