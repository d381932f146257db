# Prints what fish offers for the line $argv[1], without the descriptions and without `--flag=` before a value.
source $SCRIPT
complete -C "$argv[1]" | string replace -r '\t.*' '' | string replace -r '^--[^=]*=' ''
true
