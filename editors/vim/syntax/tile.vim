" Tile kernels. Written by scripts/editors.py of Tilewright.
if exists("b:current_syntax")
  finish
endif

syn keyword tileControl if else for while do break continue return unroll pipeline
syn keyword tileStorage const static global shared reg async
syn keyword tileDeclares import tune type require static_assert fn kernel typeof ensures family
syn keyword tileConstant true false inf nan
syn keyword tileType f64 f32 tf32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool
syn keyword tileAttribute grid warps threads resident target cluster cooperative
syn keyword tileModifier inside strides hint at clean by added multicast
syn keyword tileHint evict_first evict_last evict_normal no_allocate
syn keyword tileArgument axis exclusive
syn keyword tileIndex block grid thread cluster
syn keyword tileFunction fma min max abs square clip where exp exp2 exp2_approx log log2 sin cos tanh erf erfc expm1 log1p sigmoid sqrt rsqrt round floor ceil pow cdiv pow2_ceil philox rand randn randint sum any all argmax argmin scan dot trans reshape repeat repeat_interleave broadcast iota atomic_add atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_exchange atomic_cas arrive bits bytes
syn keyword tileEffect dot_async dot_wait store_wait wait expect arrive fence_async sync cluster_sync async_commit async_wait lock unlock free print assume
syn match tileNumber "\<\d\+\>"
syn match tileNumber "\<0[xX]\x\+\>"
syn match tileFloat "\<\d\+\.\d*\([eE][-+]\=\d\+\)\="
syn match tileFloat "\.\d\+\([eE][-+]\=\d\+\)\=\>"
syn match tileFloat "\<\d\+[eE][-+]\=\d\+\>"
syn match tileSlice "+:"
syn region tileString start=+"+ skip=+\\.+ end=+"+ oneline
syn keyword tileTodo contained TODO FIXME XXX
syn match tileComment "//.*$" contains=tileTodo,@Spell
syn region tileComment start="/\*" end="\*/" contains=tileTodo,@Spell

hi def link tileControl Statement
hi def link tileStorage StorageClass
hi def link tileDeclares Structure
hi def link tileConstant Constant
hi def link tileType Type
hi def link tileAttribute PreProc
hi def link tileModifier Keyword
hi def link tileHint Constant
hi def link tileArgument Identifier
hi def link tileIndex Special
hi def link tileFunction Function
hi def link tileEffect Keyword
hi def link tileNumber Number
hi def link tileFloat Float
hi def link tileSlice Operator
hi def link tileString String
hi def link tileTodo Todo
hi def link tileComment Comment

let b:current_syntax = "tile"
