# SPDX-License-Identifier: Apache-2.0
# fish completion for rocelab

set -l verbs capture sim sweep import check config diff experiments up run devices counters fault help version
complete -c rocelab -f
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a capture -d 'explain a RoCE capture'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a sim -d 'run a fabric file in virtual time'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a import -d 'print configurations, or another simulator\'s inputs, as a fabric file'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a check -d 'prove a fabric, or running configurations, lossless and free of deadlocks'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a config -d 'print a fabric as configurations, cabling plan, parts'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a diff -d 'compare what runs with what was approved'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a sweep -d 'run a fabric file with every combination of some values'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a experiments -d 'run published results again and compare'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a up -d 'run a fabric file with real programs on its hosts'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a run -d 'run a verbs program on the adapter in user space'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a devices -d 'list the devices such a program finds'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a counters -d 'print the counters of such programs while they run'
complete -c rocelab -n "not __fish_seen_subcommand_from $verbs" -a fault -d 'make something go wrong in a fabric that is up'
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

complete -c rocelab -n "__fish_seen_subcommand_from sim" -F
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l seed -d 'seed of everything drawn at random'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l seeds -d 'run it with so many seeds'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l threads -d 'threads to run on, or runs at once'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l until -d 'stop at this virtual time, as in 10ms'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l rows -d 'rows of the tables'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l csv -a '(__fish_complete_directories)' -d 'write CSV files there'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l series -d 'sample all ports at this interval, as in 10us'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -r -l pcap -d 'write what crosses PORT as a capture: PORT=FILE'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l counters -a 'prometheus prometheus=' -d 'write every counter'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l memory -d 'refuse a run that needs more, as in 8GB'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -l keep-going -d 'run on after a deadlock'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l each -a 'link leaf spine core switch' -d 'a run with each single failure'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l at -d 'with --each: when it fails'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l for -d 'with --each: how long it is down'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -x -l out -a '(__fish_complete_directories)' -d 'keep results there'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -l force -d 'run everything again'
complete -c rocelab -n "__fish_seen_subcommand_from sim" -l no-tiles -d 'windows of the smallest latency everywhere'

complete -c rocelab -n "__fish_seen_subcommand_from sweep" -F
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -x -l vary -d 'a value of the file, by its path: PATH=VALUES'
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -x -l with -d 'another that changes together with the one before'
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -x -l show -d 'columns of the table'
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -x -l out -a '(__fish_complete_directories)' -d 'keep results there'
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -l force -d 'run every point again'
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -x -l seeds -d 'run each point with so many seeds'
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -x -l jobs -d 'points run at once'
complete -c rocelab -n "__fish_seen_subcommand_from sweep" -l csv -d 'print the table as CSV'

complete -c rocelab -n "__fish_seen_subcommand_from import" -F
complete -c rocelab -n "__fish_seen_subcommand_from import" -x -l from -a 'nxos eos sonic nvue host clab lldp hpcc htsim' -d 'what the files are'
complete -c rocelab -n "__fish_seen_subcommand_from import" -r -l links -d 'what is cabled to what'
complete -c rocelab -n "__fish_seen_subcommand_from import" -x -l congestion -a 'dcqcn hpcc' -d 'congestion control of an hpcc run'
complete -c rocelab -n "__fish_seen_subcommand_from import" -x -l buffer -d 'a switch\'s buffer, as in 32MB'

complete -c rocelab -n "__fish_seen_subcommand_from experiments" -l quick -d 'only those that take a second or so'
complete -c rocelab -n "__fish_seen_subcommand_from experiments" -l list -d 'say which there are, and run none'
complete -c rocelab -n "__fish_seen_subcommand_from experiments" -x -l seeds -d 'run everything with so many seeds'
complete -c rocelab -n "__fish_seen_subcommand_from experiments" -x -l out -a '(__fish_complete_directories)' -d 'keep results there'
complete -c rocelab -n "__fish_seen_subcommand_from experiments" -l force -d 'run everything again'
complete -c rocelab -n "__fish_seen_subcommand_from experiments" -x -l jobs -d 'runs at once'

complete -c rocelab -n "__fish_seen_subcommand_from up" -F
complete -c rocelab -n "__fish_seen_subcommand_from up" -r -l script -d 'programs to start, and faults'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l clock -a 'virtual real real/40' -d 'whose time programs live in'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l name -d 'what programs call the fabric'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l programs -d 'time begins when so many have attached'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l seed -d 'seed of everything drawn at random'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l threads -d 'threads to run the fabric on'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l until -d 'stop at this time of the fabric'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l rows -d 'rows of the tables'
complete -c rocelab -n "__fish_seen_subcommand_from up" -r -l pcap -d 'write what crosses PORT as a capture: PORT=FILE'
complete -c rocelab -n "__fish_seen_subcommand_from up" -x -l turn-limit -d 'seconds after which a program that keeps its turn is named'
complete -c rocelab -n "__fish_seen_subcommand_from up" -l no-spin-proof -d 'do not single-step programs: for debuggers'
complete -c rocelab -n "__fish_seen_subcommand_from run" -x -l device -d 'devices and their order, as in eth0,lo'
complete -c rocelab -n "__fish_seen_subcommand_from run" -x -l wire -a 'auto udp shm packet' -d 'how packets travel'
complete -c rocelab -n "__fish_seen_subcommand_from run" -x -l fault -d 'faults on the wire, as in loss=1%'
complete -c rocelab -n "__fish_seen_subcommand_from run" -x -l fabric -d 'run on a host of this fabric'
complete -c rocelab -n "__fish_seen_subcommand_from run" -x -l host -d 'the host of the fabric'
complete -c rocelab -n "__fish_seen_subcommand_from run" -r -l pcap -d 'write every packet to a capture'
complete -c rocelab -n "__fish_seen_subcommand_from run" -l trace -d 'print a line for every packet'
complete -c rocelab -n "__fish_seen_subcommand_from counters" -x -l fabric -d 'of a fabric that is up'
complete -c rocelab -n "__fish_seen_subcommand_from counters" -l watch -d 'again every second, until interrupted'

complete -c rocelab -n "__fish_seen_subcommand_from config" -F
complete -c rocelab -n "__fish_seen_subcommand_from config" -x -l nos -a 'nxos eos sonic nvue host' -d 'the system'
complete -c rocelab -n "__fish_seen_subcommand_from config" -x -l device -d 'one device only'
complete -c rocelab -n "__fish_seen_subcommand_from config" -r -l out -d 'a file for each device in this folder'
complete -c rocelab -n "__fish_seen_subcommand_from config" -l no-comments -d 'without the rules that blocks satisfy'
complete -c rocelab -n "__fish_seen_subcommand_from config" -x -l cabling -a 'csv table' -d 'the cabling plan'
complete -c rocelab -n "__fish_seen_subcommand_from config" -l bom -d 'the bill of materials'

complete -c rocelab -n "__fish_seen_subcommand_from diff" -F
complete -c rocelab -n "__fish_seen_subcommand_from diff" -x -l from -a 'nxos eos sonic nvue host' -d 'what the running files are'
complete -c rocelab -n "__fish_seen_subcommand_from diff" -r -l links -d 'what is cabled to what'

complete -c rocelab -n "__fish_seen_subcommand_from check" -F
complete -c rocelab -n "__fish_seen_subcommand_from check" -x -l failures -a '0 1 2' -d 'failures at once'
complete -c rocelab -n "__fish_seen_subcommand_from check" -x -l explain -d 'why a rule is there'
complete -c rocelab -n "__fish_seen_subcommand_from check" -l list -d 'list the rules'
complete -c rocelab -n "__fish_seen_subcommand_from check" -l markdown -d 'with --list: as a page'
complete -c rocelab -n "__fish_seen_subcommand_from check" -l sarif -d 'write SARIF'
complete -c rocelab -n "__fish_seen_subcommand_from check" -l junit -d 'write JUnit XML'
complete -c rocelab -n "__fish_seen_subcommand_from check" -r -l baseline -d 'findings that do not count'
complete -c rocelab -n "__fish_seen_subcommand_from check" -r -l write-baseline -d 'list the findings there'
complete -c rocelab -n "__fish_seen_subcommand_from check" -x -l from -a 'nxos eos sonic nvue host clab lldp' -d 'what the files are'
complete -c rocelab -n "__fish_seen_subcommand_from check" -r -l links -d 'what is cabled to what'
