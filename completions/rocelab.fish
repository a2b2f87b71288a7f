# SPDX-License-Identifier: Apache-2.0
# fish completion for rocelab

set -l verbs capture help version
complete -c rocelab -f
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a capture -d 'explain a RoCE capture'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a help -d 'list the verbs, or say how one is used'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a version -d 'print the version'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -l version -d 'print the version'
complete -c rocelab -n "__fish_seen_subcommand_from help" -a "$verbs"

complete -c rocelab -n "__fish_seen_subcommand_from $verbs" -l json -d 'write one JSON document instead of text'
complete -c rocelab -n "__fish_seen_subcommand_from $verbs" -l quiet -d 'say only what matters most'
complete -c rocelab -n "__fish_seen_subcommand_from $verbs" -l strict -d 'exit 1 for warnings too'
complete -c rocelab -l help -d 'print how it is used'

complete -c rocelab -n "__fish_seen_subcommand_from capture" -F
complete -c rocelab -n "__fish_seen_subcommand_from capture" -x -l connections -d 'rows of the connection table'
complete -c rocelab -n "__fish_seen_subcommand_from capture" -x -l details -d 'connections shown in detail'
complete -c rocelab -n "__fish_seen_subcommand_from capture" -x -l bin -d 'width of the goodput bins, as in 10us'
complete -c rocelab -n "__fish_seen_subcommand_from capture" -x -l rate -d 'link rate for pause times, as in 400G'
complete -c rocelab -n "__fish_seen_subcommand_from capture" -l no-icrc -d 'do not check ICRCs'
complete -c rocelab -n "__fish_seen_subcommand_from capture" -x -l max-connections -d 'connections held at once'
complete -c rocelab -n "__fish_seen_subcommand_from capture" -x -l interval -d 'time between status lines of a pipe'
