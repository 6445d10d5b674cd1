" Tile kernels: comments and indenting as in C; `:make` is `tilewright check`.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s comments=sO:*\ -,mO:*\ \ ,exO:*/,s1:/*,mb:*,ex:*/,://
setlocal cindent shiftwidth=4 expandtab
setlocal makeprg=tilewright\ check\ % errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tote:\ %m,%-G%.%#
let b:undo_ftplugin = "setlocal commentstring< comments< cindent< shiftwidth< expandtab< makeprg< errorformat<"
