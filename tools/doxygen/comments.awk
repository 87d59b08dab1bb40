# Prints a header as Doxygen reads it: its plain comments become `///`.
#
#   awk -f tools/doxygen/comments.awk FILE
#
# Doxygen calls this for each file (INPUT_FILTER). The comment at the top describes
# the file, one right before a declaration describes that, and so does one behind it.
# All others stay as they are. Comments are plain text: what would be a command, a link
# or an HTML tag to Doxygen is escaped.

function plain(comment) {
  sub(/^\/\/+/, "", comment)
  gsub(/[\\@<>&#%"$|~]/, "\\\\&", comment)
  gsub(/::/, "\\::", comment)
  # Code.
  gsub(/`[^`]+`/, "<code>&</code>", comment)
  gsub(/`/, "", comment)
  return comment
}

{ lines[NR] = $0 }

END {
  at_top = 1
  column = 0  # Where the comment behind the code of the line before begins.
  for (i = 1; i <= NR; ++i) {
    line = lines[i]
    match(line, /[^ ]/)
    start = RSTART
    code = substr(line, start)
    if (code !~ /^\/\//) {
      at_top = 0
      column = 0
      if (line !~ /"/ && code !~ /^[}#]/ && match(line, /[;,{] +\/\/.*$/)) {
        column = index(substr(line, RSTART), "//") + RSTART - 1
        line = substr(line, 1, column - 1) "///<" plain(substr(line, column))
      }
      print line
      continue
    }
    indent = substr(line, 1, start - 1)
    for (after = i; lines[after] ~ /^ *\/\//;) ++after
    next_code = lines[after]
    sub(/^ +/, "", next_code)
    if (column == start) {
      print indent "///<" plain(code)
    } else if (at_top) {
      print (i == 1 ? "/// \\file\n" : "") "///" plain(code)
    } else if (next_code == "" || next_code ~ /^[#})]/) {
      print line
    } else {
      print indent "///" plain(code)
    }
  }
}
