; Written by scripts/editors.py of Tilewright. Later patterns count.
(identifier) @variable
(call name: (identifier) @function.call)
(kernel name: (identifier) @function)
(function name: (identifier) @function)
((call name: (identifier) @function.builtin)
  (#any-of? @function.builtin "fma" "min" "max" "abs" "square" "clip" "where" "exp" "exp2" "exp2_approx" "log" "log2" "sin" "cos" "tanh" "erf" "erfc" "expm1" "log1p" "sigmoid" "sqrt" "rsqrt" "round" "floor" "ceil" "pow" "cdiv" "pow2_ceil" "philox" "rand" "randn" "randint" "sum" "any" "all" "argmax" "argmin" "scan" "dot" "trans" "reshape" "repeat" "repeat_interleave" "broadcast" "iota" "atomic_add" "atomic_min" "atomic_max" "atomic_and" "atomic_or" "atomic_xor" "atomic_exchange" "atomic_cas" "arrive" "bits" "bytes"))
((call name: (identifier) @function.builtin)
  (#any-of? @function.builtin "dot_async" "dot_wait" "store_wait" "wait" "expect" "arrive" "fence_async" "sync" "cluster_sync" "async_commit" "async_wait" "lock" "unlock" "free" "print" "assume"))
((member object: (identifier) @variable.builtin)
  (#any-of? @variable.builtin "block" "grid" "thread" "cluster"))
((identifier) @variable.parameter
  (#any-of? @variable.parameter "axis" "exclusive"))
(primitive_type) @type.builtin
["if" "else" "for" "while" "do" "break" "continue" "return" "unroll" "pipeline"] @keyword
["const" "static" "global" "shared" "reg" "async"] @keyword.storage
["import" "tune" "type" "require" "static_assert" "typeof" "ensures" "family"] @keyword
["true" "false" "inf" "nan"] @constant.builtin
["grid" "warps" "threads" "resident" "target" "cluster" "cooperative"] @attribute
["inside" "strides" "hint" "at" "clean" "by" "added" "multicast"] @keyword
["evict_first" "evict_last" "evict_normal" "no_allocate"] @constant.builtin
"kernel" @keyword.function
"fn" @keyword.function
(comment) @comment
(string) @string
(integer) @number
(float) @number.float
(operator) @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";"] @punctuation.delimiter
