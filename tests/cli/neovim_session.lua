-- test_lsp_neovim.py runs this in Neovim: it works on the file as a user does, and writes the results as JSON.
local file, result, seconds = vim.env.TILE_FILE, {}, 400

local function wait(what, ready)
  if not vim.wait(seconds * 1000, ready, 20) then
    error("waited too long for " .. what)
  end
end

local function go(pattern, more)
  vim.fn.cursor(1, 1)
  vim.fn.search(pattern, "c")
  if more then
    vim.fn.cursor(vim.fn.line("."), vim.fn.col(".") + more)
  end
end

local function float_text()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      local buffer = vim.api.nvim_win_get_buf(window)
      local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
      return text, window
    end
  end
end

local function session()
  vim.g.tilewright_command = { vim.env.TILE_TOOL, "lsp" }
  vim.g.tilewright_options = { device = "sm_80" }
  vim.cmd("filetype plugin on")
  vim.cmd("edit " .. vim.fn.fnameescape(file))

  wait("diagnostics", function()
    return #vim.diagnostic.get(0) > 0
  end)
  for i, d in ipairs(vim.diagnostic.get(0)) do
    local text = vim.api.nvim_buf_get_lines(0, d.lnum, d.lnum + 1, false)[1]
    result["diagnostic" .. i] = { d.message, text:sub(d.col + 1, d.end_col), d.severity }
  end

  -- the quick fix, applied
  go("int x")
  local parameters = vim.lsp.util.make_range_params()
  parameters.context = { diagnostics = {} }
  local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", parameters, seconds * 1000)
  for _, answer in pairs(answers) do
    for _, action in ipairs(answer.result) do
      result.fix = action.title
      vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
    end
  end
  wait("the diagnostics of the text that is mended", function()
    return #vim.diagnostic.get(0) == 0
  end)
  result.fixed = vim.fn.getline(vim.fn.search("é"))

  -- hover opens a window
  go("acc +=")
  wait("the tile's layout", function()
    vim.lsp.buf.hover()
    vim.wait(2000, function()
      return float_text() ~= nil
    end, 20)
    local text, window = float_text()
    if window then
      vim.api.nvim_win_close(window, true)
    end
    result.hover = text
    return text and text:find("layout", 1, true)
  end)

  -- definition moves the cursor
  go("acc +=")
  vim.lsp.buf.definition()
  wait("the definition", function()
    return vim.fn.getline("."):find("reg f32 acc", 1, true)
  end)
  result.definition = { vim.fn.getline("."), vim.fn.expand("<cword>") }

  -- completion, as <C-x><C-o> asks for it
  go("acc +=", 2)
  vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
  local labels = {}
  answers = vim.lsp.buf_request_sync(0, "textDocument/completion", vim.lsp.util.make_position_params(), seconds * 1000)
  for _, answer in pairs(answers) do
    for _, item in ipairs(answer.result) do
      labels[item.label] = item.detail or ""
    end
  end
  result.completion = { labels.acc or vim.NIL, labels.dot or vim.NIL, labels.pipeline or vim.NIL }

  -- formatting, after a change that the server gets as a range
  go("sync();")
  local row = vim.fn.line(".")
  vim.api.nvim_set_current_line("  sync( ) ;  // é😀")
  local format = vim.lsp.buf.format or vim.lsp.buf.formatting_sync
  if vim.lsp.buf.format then
    format({ timeout_ms = seconds * 1000 })
  else
    format({}, seconds * 1000)
  end
  result.formatted = vim.fn.getline(row)
end

local good, message = pcall(session)
result.error = not good and tostring(message) or nil
local out = io.open(vim.env.TILE_RESULT, "w")
out:write(vim.fn.json_encode(result))
out:close()
vim.cmd("qa!")
