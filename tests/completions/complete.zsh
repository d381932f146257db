# Prints what zsh offers for the line $1: a shell on a pseudo-terminal whose compadd writes down what it is given.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; cd ${(q)HOME}; autoload -Uz compinit; compinit -u -D; source ${(q)SCRIPT}"
zpty -w shell 'compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    local -a found; builtin compadd -A found "$@"; print -rl -- "${(@Q)found}" >>'${(q)HOME}'/offered; builtin compadd "$@"
}'
zpty -w shell "print ready >${(q)HOME}/ready"
while [[ ! -e $HOME/ready ]]; do sleep 0.05; done
: >$HOME/offered
zpty -w -n shell "$1"$'\t'
for i in {1..200}; do  # ten seconds: other tests run beside this one
    sleep 0.05
    [[ -s $HOME/offered ]] && break
done
sleep 0.1
zpty -d shell
sed 's/=$//' $HOME/offered
rm -f $HOME/offered $HOME/ready
