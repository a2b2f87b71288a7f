# SPDX-License-Identifier: Apache-2.0
# bash completion for rocelab
#
# A verb is a line here: its own options, those that take a value ending in '='.

_rocelab()
{
    local cur prev verb own common='--json --quiet --strict --help' verbs
    verbs='capture sim sweep compare tune validate check suggest import config diff diagnose experiments up run devices counters serve fault help version'
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    verb=${COMP_WORDS[1]}
    COMPREPLY=()

    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$cur")
        return
    fi

    case $verb in
    capture) own='--connections= --details= --bin= --rate= --no-icrc --max-connections= --interval= --html=' ;;
    sim) own='--seed= --seeds= --threads= --until= --rows= --csv= --series= --qps= --events= --html= --dump= --dump-at= --serve --listen= --serve-until-done --pcap= --counters= --stretch= --memory= --keep-going --each= --at= --for= --out= --force --no-tiles' ;;
    check) own='--failures= --explain= --select= --ignore= --all --list --markdown --sarif --junit --baseline= --write-baseline= --from= --links= --model= --cable= --facts=' ;;
    import) own='--from= --links= --model= --cable= --facts= --congestion= --buffer=' ;;
    config) own='--nos= --device= --out= --comments --no-comments --cabling= --bom --svg' ;;
    diff) own='--from= --links= --model= --cable= --facts= --all --by= --fix --out=' ;;
    diagnose) own='--fabric= --from= --interval= --html= --baseline= --write-baseline= --walk --explain= --list' ;;
    sweep) own='--vary= --with= --script= --show= --out= --force --seeds= --jobs= --html= --csv' ;;
    compare) own='--systems= --vary= --with= --seeds= --out= --force --jobs= --html=' ;;
    tune) own='--for= --vary= --runs= --time= --nos= --robust --out= --force --jobs= --html= --list' ;;
    validate) own='--phase= --quick --full --soak= --live --fault= --nccl-tests= --weeks= --measured= --approved= --baseline= --write-baseline= --by= --seed= --out= --force --jobs= --junit --html=' ;;
    experiments) own='--quick --list --seeds= --out= --force --jobs=' ;;
    up) own='--script= --list --clock= --name= --programs= --seed= --threads= --until= --rows= --series= --events= --html= --serve --listen= --serve-until-done --pcap= --port= --record= --turn-limit= --no-spin-proof --audit' ;;
    run) own='--device= --wire= --fault= --strict-rnr --fabric= --host= --pcap= --trace' ;;
    serve) own='--fabric= --listen=' ;;
    counters) own='--fabric= --events --watch --sort= --list' ;;
    suggest | devices | fault | help | version) own='' ;;
    *) return ;;
    esac

    case $prev in
    --csv | --out)
        if [ "$verb $prev" != 'sweep --csv' ]; then
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
            return
        fi
        ;;
    --counters)
        mapfile -t COMPREPLY < <(compgen -W 'prometheus prometheus= openmetrics openmetrics=' -- "$cur")
        return
        ;;
    --from)
        case $verb in
        import) mapfile -t COMPREPLY < <(compgen -W 'nxos eos sonic nvue junos host clab lldp hpcc htsim' -- "$cur") ;;
        check | diff) mapfile -t COMPREPLY < <(compgen -W 'nxos eos sonic nvue junos host clab lldp' -- "$cur") ;;
        esac
        return
        ;;
    --nos)
        mapfile -t COMPREPLY < <(compgen -W 'nxos eos sonic nvue nvue-set junos junos-set host' -- "$cur")
        return
        ;;
    --cabling)
        mapfile -t COMPREPLY < <(compgen -W 'csv table' -- "$cur")
        return
        ;;
    --congestion)
        mapfile -t COMPREPLY < <(compgen -W 'dcqcn hpcc' -- "$cur")
        return
        ;;
    --wire)
        mapfile -t COMPREPLY < <(compgen -W 'auto udp shm packet' -- "$cur")
        return
        ;;
    --?*)
        case " $own " in
        *" $prev= "*) return ;;
        esac
        ;;
    esac

    case $cur in
    -*)
        mapfile -t COMPREPLY < <(compgen -W "${own//=/} $common" -- "$cur")
        ;;
    *)
        case $verb in
        help) mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur") ;;
        version | devices | counters | serve | fault) ;;
        run) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
        *)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        esac
        ;;
    esac
}

complete -F _rocelab rocelab
