# Functions for the scripts of tests/ordinary.rs. Those run in a folder of sources, write $OUT, and may use $WORK.

# Commits the sources to a repository of its own and goes there.
repository() {
    cp -r . "$WORK/repository"
    cd "$WORK/repository"
    git init -q .
    git add -A
    git -c user.name=a -c user.email=a@b.example commit -qm x
}

# Info-ZIP marks UTF-8 names as such only where it finds this locale. It is made once, beside the sources.
utf8_locale() {
    export LOCPATH="$PWD/../locale"
    [ -d "$LOCPATH" ] || { mkdir "$LOCPATH"; localedef -i en_US -f UTF-8 "$LOCPATH/en_US.UTF-8"; }
}
