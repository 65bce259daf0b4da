# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes the functions that cuBLAS exports from blas_calls.txt: awk -f blas.awk blas_calls.txt.

BEGIN {
    split("side:l uplo:u trans:t transa:t transb:t transs:T transh:H diag:d m:n n:n k:n kl:n ku:n count:b" \
          " alpha:s beta:s s:s ralpha:e rbeta:e c:e rs:e A:a B:a C:a AP:a x:a y:a" \
          " Aarray:p Barray:p Carray:p xarray:p yarray:p lda:h ldb:h ldc:h incx:i incy:i" \
          " strideA:o strideB:o strideC:o stridex:o stridey:o result:r rresult:r index:r" \
          " a:r b:r cos:r sin:r d1:r d2:r x1:r y1:r param:r", words, " ")
    for (i in words) {
        split(words[i], word, ":")
        kind_of[word[1]] = word[2]
    }
    converter["t"] = converter["T"] = converter["H"] = "sp_blas_operation"
    converter["u"] = "sp_blas_triangle"
    converter["d"] = "sp_blas_diagonal"; converter["l"] = "sp_blas_side"
    c_type["S"] = "float"; c_type["D"] = "double"
    c_type["C"] = "struct complex_float"; c_type["Z"] = "struct complex_double"
    real["S"] = real["C"] = "S"; real["D"] = real["Z"] = "D"
    print "/* Made by blas.awk of blas_calls.txt. */"
    print "#include \"config.h\"\n\n#include \"src/sim/blas.h\"\n"
    print "/* As cuComplex and cuDoubleComplex are passed. */"
    print "struct complex_float {\n    float parts[2];\n} __attribute__((aligned(8)));"
    print "struct complex_double {\n    double parts[2];\n} __attribute__((aligned(16)));\n"
}

/^#/ || NF == 0 { next }

{
    if (NF < 5)
        fail("too few words")
    read_parameters()
    n_prefixes = split($3, prefixes, ",")
    for (p = 1; p <= n_prefixes; p++)
        routine($1, prefixes[p], $2, $4)
}

END {
    if (failed)
        exit 1
    print "const struct sp_blas_routine *const sp_blas_routines[] = {"
    printf "%s    NULL,\n};\n", list
}

function fail(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
    failed = 1
    exit 1
}

function read_parameters(    i, has_matrix)
{
    n_parameters = NF - 4
    kinds = ""
    for (i = 1; i <= n_parameters; i++) {
        name[i] = least[i] = $(i + 4)
        sub(/:.*/, "", name[i])
        sub(/[^:]*:/, "", least[i])
        if (!(name[i] in kind_of))
            fail("no such parameter: " name[i])
        kind[i] = kind_of[name[i]]
        if (name[i] ~ /^(A|AP|Aarray)$/)
            has_matrix = 1
    }
    for (i = 1; i <= n_parameters; i++) {
        if (kind[i] ~ /[in]/ && !has_matrix)
            kind[i] = "j"
        kinds = kinds kind[i]
    }
}

# The letter of the type that a prefix such as Cs, Dz or Is stands for.
function type_of(prefix)
{
    prefix = toupper(prefix)
    if (match(prefix, /[CZ]/))
        return substr(prefix, RSTART, 1)
    return substr(prefix, length(prefix))
}

function result_of(type,    last)
{
    last = name[n_parameters]
    if (last == "result")
        return type
    if (last == "rresult")
        return real[type]
    return last == "index" ? "I" : ""
}

function routine(forms, prefix, family, by,    type, result, full, symbol, own, label)
{
    type = type_of(prefix)
    result = result_of(type)
    full = "cublas" prefix family
    own = symbol = "NULL"
    if (by == "-")
        symbol = "\"" tolower(prefix) family "_\""
    else if (by ~ /^=/)
        symbol = "\"" tolower(type) substr(by, 3) "\""
    else
        own = by
    label = (forms == "1" ? "first_" : "routine_") prefix family
    printf "static const struct sp_blas_routine %s = {\n", label
    printf "    \"%s%s\", %s, %s, \"%s\", '%s', %s};\n\n", full, forms == "1" ? "(1)" : "", \
        symbol, own, kinds, type, result == "" ? "0" : "'" result "'"
    list = list "    &" label ",\n"
    if (index(forms, "1"))
        first_form(full, label, type, result)
    if (index(forms, "2")) {
        second_form(full "_v2", label, "int")
        if (forms !~ /s/)
            second_form(full "_v2_64", label, "int64_t")
    }
    if (forms ~ /0/) {
        second_form(full, label, "int")
        if (forms !~ /s/)
            second_form(full "_64", label, "int64_t")
    }
}

# The type of a parameter in the second interface.
function declared(i, integer)
{
    if (kind[i] ~ /[tTHudl]/)
        return "int " name[i]
    if (kind[i] ~ /[nbhij]/)
        return integer " " name[i]
    return kind[i] == "o" ? "int64_t " name[i] : "const void *" name[i]
}

function begin_function(returns, full, parameters)
{
    printf "STARPOOL_API %s %s(%s);\n\n", returns, full, parameters
    printf "%s %s(%s)\n{\n", returns, full, parameters
}

function put_args(integer,    i)
{
    print "    const struct sp_blas_arg args[] = {"
    for (i = 1; i <= n_parameters; i++) {
        if (name[i] == "index")
            printf "        {.address = index, .number = sizeof(%s)},\n", integer
        else if (kind[i] ~ /[separ]/)
            printf "        {.address = %s},\n", name[i]
        else if (kind[i] == "h")
            printf "        {.number = %s, .least = %s},\n", name[i], least[i]
        else
            printf "        {.number = %s},\n", name[i]
    }
    print "    };"
}

function second_form(full, label, integer,    i, parameters)
{
    parameters = "const struct sp_blas_handle *handle"
    for (i = 1; i <= n_parameters; i++)
        parameters = parameters ", " declared(i, integer)
    begin_function("int", full, parameters)
    put_args(integer)
    printf "\n    return sp_blas_call(handle, &%s, args);\n}\n\n", label
}

# In the first interface, numbers come by value, enumerations as letters, and a result goes
# back. The function's own names are then free for what put_args() writes.
function first_form(full, label, type, result,    i, number, parameters, locals, glue)
{
    for (i = 1; i <= n_parameters; i++) {
        if (i == n_parameters && result != "")
            break
        if (kind[i] ~ /[tTHudl]/) {
            parameters = parameters glue "char letter_" name[i]
            locals = locals "    const int " name[i] " = " converter[kind[i]] "(letter_" \
                name[i] ");\n"
        } else if (kind[i] ~ /[se]/) {
            number = c_type[kind[i] == "s" ? type : real[type]]
            parameters = parameters glue number " number_" name[i]
            locals = locals "    const void *const " name[i] " = &number_" name[i] ";\n"
        } else {
            parameters = parameters glue declared(i, "int")
        }
        glue = ", "
    }
    c_type["I"] = "int"
    begin_function(result == "" ? "void" : c_type[result], full, parameters)
    printf "%s", locals
    if (result != "") {
        printf "    %s answer = {0};\n", c_type[result]
        printf "    const void *const %s = &answer;\n", name[n_parameters]
    }
    put_args("int")
    printf "\n    sp_blas_call_first(&%s, args);\n", label
    print (result == "" ? "" : "    return answer;\n") "}\n"
}
