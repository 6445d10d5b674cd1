# Words that the embedded texts of src/aot have often, the longest first: a byte of 128 or more means one of them
# (src/aot/aot_unpack.c). They decide only the size: any list of up to 128 words gives the same texts.
set(aot_words
    "unsigned " "@NAME@_" "@name@_" "return " "static " "int64_" "status" "void *" " the " "SIZE_" "cuda." "image" "modul" "struc" "    "
    " && " " */\n" "AOT_" "MAP_" "NULL" "aot_" "numb" "room" "size" "step" "vice" "view" "void" " = " " ? " "/* " "32_" "FIT" "INT" "NO_"
    "clu" "cpu" "ext" "if " "lib" "map" "mem" "of " "tur" "typ" "ult" "\n\n" "  " " (" " *" " 1" ")\n" ") " ", " "->" ". " "64" ": " "\;\n"
    "\; " "< " "= " "@\n" "ER" "MA" "ME" "OK" "OR" "RE" "a " "ad" "al" "am" "an" "ar" "as" "at" "ax" "by" "ce" "ch" "ck" "co" "cu" "d " "de"
    "di" "e " "ed" "en" "er" "es" "fa" "ge" "il" "in" "is" "it" "l " "la" "le" "lo" "ma" "ne" "no" "of" "on" "op" "or" "ou" "pa" "re" "ri"
    "ro" "s " "se" "si" "st" "t " "t)" "ta" "te" "th" "ti" "um" "un" "wh" "y ")
