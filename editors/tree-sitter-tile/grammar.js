// Tile kernels, for highlighting, folding and outlines: words, brackets, calls, kernels and
// functions. The tokens between them are kept flat, so that an unfinished line disturbs little. At
// most one rule fits at any place, except that a name may begin a call; one token ahead decides it.
const words = require("./words.js");

module.exports = grammar({
  name: "tile",
  word: ($) => $.identifier,
  extras: ($) => [/\s/, $.comment],

  rules: {
    source_file: ($) => repeat(choice($.kernel, $.function, $._item)),

    kernel: ($) =>
      seq("kernel", field("name", $.identifier), field("parameters", $.parentheses),
          repeat($.attribute), field("body", $.block)),
    attribute: ($) => prec.right(seq(choice(...words.attribute), optional($.parentheses))),

    // fn RESULT NAME(…): the result is a type with brackets, or several in parentheses
    function: ($) =>
      seq("fn", field("result", choice(seq(optional(choice("reg", "shared", "global")), $._type, repeat($.brackets)), $.parentheses)),
          field("name", $.identifier), field("parameters", $.parentheses), field("body", $.block)),
    _type: ($) => choice($.primitive_type, $.identifier, seq("typeof", $.parentheses)),

    block: ($) => seq("{", repeat($._item), "}"),
    parentheses: ($) => seq("(", repeat($._item), ")"),
    brackets: ($) => seq("[", repeat($._item), "]"),

    _item: ($) =>
      choice($.block, $.parentheses, $.brackets, $.call, $.member, $.identifier, $.primitive_type, $.keyword,
             $.constant, $.string, $.integer, $.float, $.operator, ",", ";"),
    call: ($) => prec(2, seq(field("name", $.identifier), field("arguments", $.parentheses))),
    member: ($) => prec(2, seq(field("object", $.identifier), ".", field("field", $.identifier))),

    keyword: ($) =>
      choice(...[...words.control, ...words.storage, ...words.declares].filter((w) => w !== "kernel" && w !== "fn"),
             ...words.modifier, ...words.hint),
    constant: ($) => choice(...words.constant),
    primitive_type: ($) => choice(...words.type),

    identifier: ($) => /[A-Za-z_][A-Za-z0-9_]*/,
    float: ($) => /[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?|\.[0-9]+([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+/,
    integer: ($) => /0[xX][0-9A-Fa-f]+|[0-9]+/,
    string: ($) => /"([^"\\\n]|\\.)*"/,
    operator: ($) => choice("+:", "->", /[-+*\/%&|^~!<>=]=?/, "<<", ">>", "<<=", ">>=", "&&", "||", "++", "--", "?", ":", "."),
    comment: ($) => token(choice(/\/\/[^\n]*/, /\/\*[^*]*\*+([^\/*][^*]*\*+)*\//)),
  },
});
