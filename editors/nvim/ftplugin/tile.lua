-- Starts Tilewright's language server for .tile files, in Neovim 0.7 and later. Before this file is read,
--   vim.g.tilewright_command = { "/path/to/tilewright", "lsp" }     chooses the program,
--   vim.g.tilewright_options = { device = "sm_80" }                 the device that layouts and costs are for.
local command = vim.g.tilewright_command or { "tilewright", "lsp" }
if vim.fn.executable(command[1]) == 0 then
  return
end
local config = {
  name = "tilewright",
  cmd = command,
  root_dir = vim.fn.getcwd(),
  init_options = vim.g.tilewright_options,
}
if vim.lsp.start then
  vim.lsp.start(config)
  return
end
-- Neovim 0.7: one server for all buffers.
for _, client in pairs(vim.lsp.get_active_clients()) do
  if client.name == config.name then
    vim.lsp.buf_attach_client(0, client.id)
    return
  end
end
local id = vim.lsp.start_client(config)
if id then
  vim.lsp.buf_attach_client(0, id)
end
