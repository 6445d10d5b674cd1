// Written by scripts/editors.py of Tilewright.
module.exports = {
  "type": [
    "f64",
    "f32",
    "tf32",
    "f16",
    "bf16",
    "e4m3",
    "e5m2",
    "i64",
    "i32",
    "i16",
    "i8",
    "u64",
    "u32",
    "u16",
    "u8",
    "bool"
  ],
  "control": [
    "if",
    "else",
    "for",
    "while",
    "do",
    "break",
    "continue",
    "return",
    "unroll",
    "pipeline"
  ],
  "storage": [
    "const",
    "static",
    "global",
    "shared",
    "reg",
    "async"
  ],
  "declares": [
    "import",
    "tune",
    "type",
    "require",
    "static_assert",
    "fn",
    "kernel",
    "typeof",
    "ensures",
    "family"
  ],
  "constant": [
    "true",
    "false",
    "inf",
    "nan"
  ],
  "attribute": [
    "grid",
    "warps",
    "threads",
    "resident",
    "target",
    "cluster",
    "cooperative"
  ],
  "modifier": [
    "inside",
    "strides",
    "hint",
    "at",
    "clean",
    "by",
    "added",
    "multicast"
  ],
  "hint": [
    "evict_first",
    "evict_last",
    "evict_normal",
    "no_allocate"
  ]
};
