# SPDX-License-Identifier: LGPL-2.1-or-later
# Writes the exported functions of libcuda.so.1 in C, and the table that cuGetProcAddress() looks
# them up in, for driver_exports.c: awk -f exports.awk calls.def driver_made.def driver_exports.def
# A symbol of driver_exports.def calls, in this order, what the first has that is there: the
# model's table (calls.def), a function that is made of it (driver_made.def), what the symbol is
# the same as, what it is the per-thread twin of. Else it is a stub.

FNR == 1 { file++ }

# One row may be on several lines; comments stand between rows.
{
    sub(/\r$/, "")
    if (row == "" && $0 !~ /^X\(/)
        next
    row = row == "" ? $0 : row " " $0
    gsub(/[ \t]+/, " ", row)
    if (gsub(/\(/, "(", row) == gsub(/\)/, ")", row)) {
        take_row(substr(row, 3, length(row) - 3))
        row = ""
    }
}

# The next field of `rest`, up to a comma; what is behind it stays in `rest`.
function next_field(    at, field)
{
    at = index(rest, ",")
    field = at ? substr(rest, 1, at - 1) : rest
    rest = at ? substr(rest, at + 1) : ""
    gsub(/^[ \t]+|[ \t]+$/, "", field)
    return field
}

function take_row(text,    name, symbol, version)
{
    rest = text
    name = next_field()
    symbol = next_field()
    version = next_field()
    gsub(/^[ \t]+|[ \t]+$/, "", rest)
    if (file < 3) {
        parameters[symbol] = substr(rest, 2, length(rest) - 2)
        calls[symbol] = file == 1 ? "sp_sim_driver()->" name : "sp_made_" symbol
        if (file == 1)
            symbol_of[name] = symbol
        return
    }
    n_rows++
    row_name[n_rows] = name
    row_symbol[n_rows] = symbol
    row_version[n_rows] = version
    if (rest != "")
        same_as[symbol] = rest
}

# Split a list of parameters: types[i] and names[i]. No type of ours has a comma in it.
function split_parameters(list,    n, i, parts)
{
    if (list ~ /^[ \t]*(void)?[ \t]*$/)
        return 0
    n = split(list, parts, ",")
    for (i = 1; i <= n; i++) {
        names[i] = parts[i]
        gsub(/[ \t]+$/, "", names[i])
        sub(/^.*[^A-Za-z0-9_]/, "", names[i])
        types[i] = parts[i]
        sub(names[i] "[ \t]*$", "", types[i])
        gsub(/^[ \t]+|[ \t]+$/, "", types[i])
    }
    return n
}

# The arguments that pass the parameters on; if `is_own`, the default stream is the thread's own.
function arguments(list, is_own,    n, i, text)
{
    n = split_parameters(list)
    n_streams = 0
    text = ""
    for (i = 1; i <= n; i++) {
        if (is_own && types[i] == "sp_cu_stream") {
            names[i] = "sp_driver_own_stream(" names[i] ")"
            n_streams++
        }
        text = text (i > 1 ? ", " : "") names[i]
    }
    return text
}

function write_function(symbol, list, body)
{
    printf "\nSTARPOOL_API sp_cu_result %s(%s);\nsp_cu_result %s(%s)\n{\n%s}\n", symbol, list, symbol, list, body
}

# The call with a stream that does what one without does: cuMemcpyHtoDAsync for cuMemcpyHtoD_v2.
function asynchronous(symbol,    name)
{
    name = symbol
    sub(/_v[0-9]$/, "", name)
    sub(/Unaligned$/, "", name)
    name = name "Async"
    return name in symbol_of ? symbol_of[name] : ""
}

# A call without a stream, as one of the thread's own stream. What only sets memory need not be
# waited for.
function write_own_call(twin, plain,    async, list)
{
    async = asynchronous(plain)
    if (async == "")
        return 0
    list = arguments(parameters[plain], 0)
    write_function(twin, parameters[plain], \
        "    sp_cu_result result = sp_driver_own_begin();\n\n" \
        "    if (result == SP_CU_SUCCESS)\n" \
        "        result = " calls[async] "(" list ", SP_CU_STREAM_PER_THREAD);\n" \
        "    return sp_driver_own_end(result, " (plain ~ /^cuMemset/ ? "false" : "true") ");\n")
    return 1
}

function write_twin(twin,    plain, list)
{
    plain = substr(twin, 1, length(twin) - 5)
    if (plain in same_as)
        plain = same_as[plain]
    if (!(plain in calls))
        return 0
    if (twin ~ /_ptds$/)
        return write_own_call(twin, plain)
    list = arguments(parameters[plain], 1)
    if (n_streams == 0) {
        print "exports.awk: " twin " has no parameter that is a stream: write it by hand" >"/dev/stderr"
        exit_code = 1
    }
    write_function(twin, parameters[plain], "    return " calls[plain] "(" list ");\n")
    return 1
}

function write_symbol(symbol,    target)
{
    target = symbol in calls || !(symbol in same_as) ? symbol : same_as[symbol]
    if (target in calls)
        write_function(symbol, parameters[target], \
            "    return " calls[target] "(" arguments(parameters[target], 0) ");\n")
    else if (symbol !~ /_pt[ds][sz]$/ || !write_twin(symbol))
        write_function(symbol, "void", "    return sp_driver_missing(\"" symbol "\");\n")
}

END {
    print "/* Made by src/sim/exports.awk: change that, or the lists that it reads. */"
    for (i = 1; i <= n_rows; i++) {
        if (!(row_symbol[i] in is_written))
            write_symbol(row_symbol[i])
        is_written[row_symbol[i]] = 1
    }
    print "\nconst struct sp_driver_export sp_driver_exports[] = {"
    for (i = 1; i <= n_rows; i++) {
        if (row_version[i] > 0)
            printf "    {\"%s\", %d, %s, (sp_driver_function)%s},\n", row_name[i], \
                row_version[i], row_symbol[i] ~ /_pt[ds][sz]$/ ? "true" : "false", row_symbol[i]
    }
    print "};"
    print "const size_t sp_driver_n_exports = sizeof(sp_driver_exports) / sizeof(sp_driver_exports[0]);"
    # A row of the model's that nobody can call would go unseen.
    for (symbol in calls) {
        if (!(symbol in is_written)) {
            print "exports.awk: " symbol " is in no row of driver_exports.def" >"/dev/stderr"
            exit_code = 1
        }
    }
    exit exit_code
}
