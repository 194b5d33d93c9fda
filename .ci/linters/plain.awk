# Converts a Dockerfile for dockerfilelint, line by line. dockerfilelint does not understand an ARG or an earlier stage in a
# FROM, so both are replaced by their image. It does not understand here-documents, so these become empty.
here != "" { if ($1 == here) here = ""; print ""; next }
/^ARG [A-Za-z0-9_]+=/ { split($2, pair, "="); value[pair[1]] = pair[2] }
/^FROM / {
  for (name in value) gsub("[$]([{]" name "[}]|" name ")", value[name])
  at = $2 ~ /^--/ ? 3 : 2
  if ($at in image) $at = image[$at]
  if (toupper($(at + 1)) == "AS") image[$(at + 2)] = $at
}
match($0, /<<-?["']?[A-Za-z_]+/) { here = substr($0, RSTART, RLENGTH); gsub(/[^A-Za-z_]/, "", here) }
{ print }
