# shellcheck shell=sh
# Looks at a machine with GPUs in one go: what they run first, and the state after. So a process that has just been
# started in a new environment is never taken for one whose environment is not there.

look() {
  begin || return
  me
  machine
  calls
  gpus
  state
  accounts
  blob verified "$(told "$VERIFIED")"
}

machine() {
  id=- boot=- driver=-
  for file in "$ETC/machine-id" "${ETC%etc}var/lib/dbus/machine-id"; do
    if [ "$id" = - ] && [ -f "$file" ]; then
      read -r id <"$file" || [ -n "$id" ] || id=-
    fi
  done
  read -r boot <"$PROC/sys/kernel/random/boot_id"
  say machine "${id:--}" "$boot"
  if [ -f "$PROC/driver/nvidia/version" ]; then
    read -r driver <"$PROC/driver/nvidia/version"
  fi
  say driver "$driver"
}

trusted() { # OWNERS PATH: goes there as the kernel does; sets $place and $file, or $why and $fault
  owners=" $1 " ahead=$2 place='' kinds='' links=0 fault=unexamined
  shift 2
  while [ -n "$ahead" ]; do
    name=${ahead%%/*}
    case $ahead in */*) ahead=${ahead#*/} ;; *) ahead= ;; esac
    case $name in
      '' | .) continue ;;
      ..)
        place=${place%/*}
        continue
        ;;
    esac
    set -- "$@" "$place/"
    if [ -n "$ahead" ]; then kinds="${kinds}above "; else kinds="${kinds}folder "; fi
    if [ -L "$place/$name" ]; then
      links=$((links + 1))
      why='too many links'
      [ $links -le 40 ] || return 1
      set -- "$@" "$place/$name"
      kinds="${kinds}link "
      target=$("$readlink" "$place/$name")
      case $target in /*) place= ;; esac
      ahead=$target/$ahead
    else
      place=$place/$name
    fi
  done
  set -- "$@" "$place"
  kinds="${kinds}file "
  why='something on the way to it cannot be looked at'
  facts=$("$stat" -c '%u %a %d:%i' -- "$@" 2>/dev/null) || return 1
  fault=untrusted
  for path; do
    kind=${kinds%% *} kinds=${kinds#* } fact=${facts%%"$newline"*} facts=${facts#*"$newline"}
    file=${fact#* } uid_there=${fact%% *}
    mode=0${file%% *} file=${file#* }
    shown=${path%/}
    case ${shown:=/} in *[!\ -~]*) shown='a folder with odd letters in its name' ;; esac
    case $owners in
      *" $uid_there "*) ;;
      *)
        why="$shown belongs to user $uid_there"
        return 1
        ;;
    esac
    # In a sticky directory users cannot replace files of others. In the file's own directory they could add files.
    if [ "$kind" != link ] && [ $((mode & 022)) -ne 0 ]; then
      if [ "$kind" != above ] || [ $((mode & 01000)) -eq 0 ]; then
        why="others can write $shown"
        return 1
      fi
    fi
  done
  why='it is not a file'
  [ -f "$place" ]
}

programs() { # PATHS...: which files the protected programs are; sets $protects if there are any
  number=0 protects=''
  for program; do
    if ! [ -e "$program" ]; then
      say program $number absent
    elif trusted 0 "$program"; then
      say program $number "$file"
      protects=yes
    else
      say program $number "$fault" "$why"
    fi
    number=$((number + 1))
  done
}

gpus() {
  clock
  say before "$now"
  if [ -n "$SKIP_GPUS" ]; then
    say tool skipped
    return
  fi
  case $SMI in
    */*) found=$SMI ;;
    *) locate "$SMI" || found= ;;
  esac
  if [ -z "$found" ]; then
    say tool unusable "$SMI is not in any of $PATH"
  elif ! [ -f "$found" ] || ! [ -x "$found" ]; then
    say tool unusable "$found is not a program"
  elif ! trusted "0 $uid" "$found"; then
    say tool unusable "$found is not used: $why"
  else
    query processes "$QUERY_PROCESSES"
    list=$answer
    case $code in
      0)
        query devices "$QUERY_DEVICES"
        processes
        ;;
      124 | 137) ;; # it would hang again
      *) query devices "$QUERY_DEVICES" ;;
    esac
  fi
}

query() { # NAME QUERY: sets $answer and $code
  allow "$GPU_WAIT" 44
  # Read up to our mark and no further: a child of the tool's own may hold its output open for ever.
  until=$((now + hundredths))
  answer=$(ask "$2" | until_mark)
  code=${answer##*"@$NONCE "}
  case $answer in *"@$NONCE $code") answer=${answer%"@$NONCE $code"} ;; *) code=lost ;; esac
  clock
  if [ "$code" = 137 ] && [ "$now" -lt $until ]; then
    code=killed # by somebody else
  fi
  errors=
  if [ "$code" != 0 ] && [ -z "$answer" ]; then
    case $code in
      124 | 137 | killed | lost) ;;
      *)
        allow "$GPU_WAIT" 44
        errors=$(ask "$2" complain | until_mark)
        ;;
    esac
  fi
  if [ ${#answer} -gt 1048576 ]; then
    code=long answer=
  fi
  blob "gpu_$1" "$code" "$seconds" "$(printf %s "$answer${errors%"@$NONCE "*}" | "$base64" -w0)"
}

ask() { # QUERY [COMPLAIN]: what the tool says, or what it complains of
  if [ $# -eq 1 ]; then exec 2>/dev/null; else exec 2>&1; fi
  "$env" -i PATH="$PATH" LC_ALL=C GENV_BYPASS=1 "$timeout" -k 0.2 "$seconds" "$found" "$1" "$GPU_FORMAT"
  printf '\n@%s %s\n' "$NONCE" "$?"
}

until_mark() {
  while IFS= read -r line; do
    case $line in
      "@$NONCE "*)
        printf %s "$line"
        return
        ;;
      ?*) printf '%s\n' "$line" ;;
    esac
  done
}

processes() { # of those that the GPUs run, what the kernel knows; sets nothing
  pids='' count=0
  IFS=$newline
  set -f
  for line in $list; do
    line=${line#*,}
    line=${line%%,*}
    line=${line# }
    case " $pids " in *" $line "*) continue ;; esac
    case $line in
      '' | 0* | *[!0-9]* | ??????????*) ;;
      *)
        pids="$pids $line"
        count=$((count + 1))
        ;;
    esac
  done
  set +f
  unset IFS
  if [ $count -gt 4096 ]; then
    say too_many $count
    return
  fi
  blob stats "$(told "$pids")"
  # shellcheck disable=SC2086
  memories $pids
  blob again "$(told "$pids")"
}

memories() { # PIDS...: what lies in the memory of each
  spoken='' backwards=''
  for pid; do
    case " $SILENT " in
      *" $pid "*) ;;
      *) [ ! -e "$PROC/$pid" ] || spoken="$spoken $pid" backwards="$pid $backwards" ;;
    esac
  done
  # shellcheck disable=SC2086
  set -- $spoken
  [ $# -gt 0 ] || return 0
  allow $((200 + 2 * $#)) 50
  recollect "$@"
  [ "$code" != 0 ] || return 0
  # One of them keeps those behind it from being read.
  # shellcheck disable=SC2086
  set -- $backwards
  clock
  patience=$((now + 400))
  for pid; do
    clock
    if [ "$now" -lt $patience ] && [ $((finish - now)) -gt $((BUDGET / 3)) ]; then
      allow 100 22
      recollect "$pid"
    else
      say unasked "$pid"
    fi
  done
}

accounts() { # who is who on this machine, if that has changed
  stamp=$("$stat" -L -c %d:%i:%s:%Y:%Z "$ETC/passwd" 2>/dev/null)
  length=${stamp#*:*:}
  length=${length%%:*}
  if [ -z "$stamp" ] || ! [ -f "$ETC/passwd" ] || ! [ -r "$ETC/passwd" ]; then
    say passwd unreadable
  elif [ "$stamp" = "$PASSWD" ]; then
    say passwd same
  elif [ "$length" -gt 2097152 ]; then
    say passwd long
  else
    blob passwd "$stamp" "$("$base64" -w0 "$ETC/passwd" 2>/dev/null)"
  fi
}
