# SPDX-License-Identifier: Apache-2.0
# bash completion for rocelab

_rocelab()
{
    local cur prev verb
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    verb=${COMP_WORDS[1]}
    COMPREPLY=()

    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'capture help version --help --version' -- "$cur")
        return
    fi

    case $prev in
    --connections | --details | --bin | --rate | --max-connections | --interval)
        return
        ;;
    esac

    case $verb in
    capture)
        case $cur in
        -*)
            mapfile -t COMPREPLY < <(compgen -W '--connections --details --bin --rate --no-icrc --max-connections --interval
                --json --quiet --strict --help' -- "$cur")
            ;;
        *)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        esac
        ;;
    help)
        case $cur in
        -*) mapfile -t COMPREPLY < <(compgen -W '--json --quiet --strict --help' -- "$cur") ;;
        *) mapfile -t COMPREPLY < <(compgen -W 'capture help version' -- "$cur") ;;
        esac
        ;;
    version)
        mapfile -t COMPREPLY < <(compgen -W '--json --quiet --strict --help' -- "$cur")
        ;;
    esac
}

complete -F _rocelab rocelab
