# shellcheck shell=sh
# Reads what the kernel takes out of the memory of a process itself, which can keep it from answering for ever: so it is
# done by another shell, which can be left behind with all that it started. What it says goes through a program of
# ours, and never straight from the one that may hang: whoever waits for the end of that would wait for ever.

# The last GENV_ENVIRONMENT_ID counts; one of ours behind them all shows that everything was read.
# shellcheck disable=SC2016
recall='
read -r nonce
proc=$1 protects=$2 head=$3 grep=$4 tail=$5 stat=$6 readlink=$7 base64=$8
shift 8
status() { # FOLDER: prints what its stat says; sets $state to what follows the name in it
  state=
  while IFS= read -r line || [ -n "$line" ]; do
    printf "%s\n" "$line"
    state=${line##*) }
  done <"$1/stat"
}
choose() { # PID: sets $task: the process, or where its first thread has ended, one of the others
  task=$proc/$1
  status "$task" >/dev/null
  case $state in
    [ZXx]*)
      for task in "$proc/$1/task"/*; do
        status "$task" >/dev/null
        case $state in [!ZXx]*) break ;; esac
      done
      ;;
  esac
}
environ() { # the end of what names an environment
  {
    { "$head" -c 8388608 && printf "\\000GENV_ENVIRONMENT_ID=@%s\\000" "$nonce"; } |
      "$grep" -z -a -e ^GENV_ENVIRONMENT_ID= | "$tail" -c 8400
  } <"$task/environ"
}
denied() {
  case $( { : <"$task/environ"; } 2>&1) in *"Permission denied"*) return 0 ;; esac
  return 1
}
program() { # sets $known
  "$readlink" "$task/exe" >/dev/null && known=yes || known=no
}
file() { # sets $exe, what tells the file that it runs from every other
  exe=$("$stat" --cached=always -L -c %d:%i "$task/exe" || "$stat" -L -c %d:%i "$task/exe") || exe=none
}
'

# shellcheck disable=SC2016
memory='
for pid; do
  choose "$pid"
  printf "@%s before %s\n" "$nonce" "$pid"
  status "$task"
  printf "@%s environ %s\n" "$nonce" "$pid"
  environ || { denied && printf "@%s denied %s\n" "$nonce" "$pid"; }
  printf "\n@%s after %s\n" "$nonce" "$pid"
  status "$task"
  if [ -n "$protects" ]; then
    program
    printf "@%s name %s %s\n" "$nonce" "$pid" "$known"
    file
    printf "@%s exe %s %s\n" "$nonce" "$pid" "$exe"
  fi
  printf "@%s read %s\n" "$nonce" "$pid"
done'

# The ends of the arguments that name a kernel's file, of all processes, and one of ours behind them. They are compared
# once more, so it may be too many. A kernel names its file in its first few hundred bytes; users choose how long the
# arguments of their processes are, and so no more than the first 64 KiB of each are searched.
# shellcheck disable=SC2016
arguments='
read -r nonce
cd "$1" || exit
{
  "$2" -q -c 65536 -- [0-9]*/cmdline
  printf "\\000/kernel-@%s %s.json\\000" "$nonce" "$?"
} | "$3" -z -a -o -E "(^|[/=])kernel-[^/=]*\.json\$" | "$2" -c 1048576'

bounded() { # WORD SCRIPT ARGUMENTS...: says what the script said within $seconds, in base64; sets $code
  said=$((said + 1))
  printf '@%s %s ' "$NONCE" "$1"
  script=$2
  shift 2
  {
    code=$({
      {
        printf '%s\n' "$NONCE" | "$timeout" -s KILL "$seconds" "$SH" -c "$script" sh "$@" 3>&- 4>&-
        printf %s "$?" >&4
      } | "$base64" -w0 >&3
    } 4>&1 2>/dev/null)
  } 3>&1
  printf ' .\n'
}

recollect() { # PIDS...: what lies in the memory of each
  bounded memory "$recall$memory" "$PROC" "$protects" "$head" "$grep" "$tail" "$stat" "$readlink" "$base64" "$@"
}

kernels() { # which kernels run
  bounded kernel_files "$arguments" "$PROC" "$head" "$grep"
}
