# Prints what bash offers for the line $1: the words as readline would cut them, quotes taken off again.
source "$SCRIPT"
line=${1//=/ = }
eval "COMP_WORDS=(${line})"
[[ $line == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
_vramfit
for word in "${COMPREPLY[@]}"; do
    eval "printf '%s\n' $word"
done
