# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes the functions of a library that answer only that they are not supported:
# awk -v library=LIBRARY -v answer=NUMBER -f stubs.awk NAMES. A call is noted, unless the name is
# followed by "none": then the simulated device has nothing of the kind, and that is the answer.

BEGIN {
    print "/* Made by stubs.awk. */"
    print "#include \"config.h\"\n\n#include \"src/model/missing.h\"\n"
}

/^#/ || NF == 0 { next }

{
    printf "STARPOOL_API int %s(void);\n\nint %s(void)\n{\n", $1, $1
    if ($2 != "none")
        printf "    sp_model_note_missing(\"%s\", \"%s\");\n", library, $1
    printf "    return %s;\n}\n\n", answer
}
