# shellcheck shell=sh
# Does on a machine what was decided, each thing only if it is still right.

act() {
  begin || return
  me
  read -r boot <"$PROC/sys/kernel/random/boot_id"
  lease
  [ -n "$leased" ] || calls
}

late() { # whether this was judged so long ago that by now it may be otherwise, or nobody waits for it any longer
  clock
  [ "$now" -gt "$DEADLINE" ] || [ "$now" -gt "$finish" ] || [ "$boot" != "$BOOT_ID" ]
}

# shellcheck disable=SC2016
who='
choose "$1"
status "$task" >/dev/null
printf "before %s\n" "$state"
if said=$(environ | "$base64" -w0) && [ -n "$said" ]; then
  printf "environ %s\n" "$said"
elif denied; then
  printf "denied\n"
fi
status "$task" >/dev/null
printf "after %s\n" "$state"
program
[ -z "$protects" ] || file
printf "program %s %s\n" "$known" "${exe-other}"'

terminate() { # NUMBER PID START UID EXEMPT SIGNAL FILES ENVIRON: asks a process to end, if it still is who it was
  number=$1 pid=$2 start=$3 user=$4 exempt=$5 signal=$6 files=$7 expected=$8
  if late; then
    say result "$number" late
  elif [ "$pid" -le 1 ] || [ "$pid" -eq $$ ]; then
    say result "$number" protected
  elif ! is_there; then
    say result "$number" gone
  elif ! is_of_user; then
    say result "$number" other "$owner"
  else
    allow 100 5
    # Nothing but numbers and base64 comes out of it.
    answer=$(printf '%s\n' "$NONCE" |
      "$timeout" -s KILL "$seconds" "$SH" -c "$recall$who" who \
        "$PROC" "$files" "$head" "$grep" "$tail" "$stat" "$readlink" "$base64" "$pid" 2>/dev/null)
    judge
  fi
}

is_there() { # whether it is this very process still; nothing else is run for it
  line=''
  {
    while IFS= read -r part || [ -n "$part" ]; do
      line=$part
    done <"$PROC/$pid/stat"
  } 2>/dev/null
  # shellcheck disable=SC2086
  set -- ${line##*) }
  [ "${20-}" = "$start" ] || return 1
  case $1 in [ZXx]) [ "${18}" -gt 1 ] ;; esac
}

is_of_user() { # sets $owner; where no uid is expected, any will do that is not exempt
  owner=''
  {
    while read -r key first _; do
      case $key in
        Uid:)
          owner=$first
          break
          ;;
      esac
    done <"$PROC/$pid/status"
  } 2>/dev/null
  if [ -n "$user" ]; then
    [ "$owner" = "$user" ]
  else
    case " $exempt " in *" $owner "*) return 1 ;; esac
    [ -n "$owner" ]
  fi
}

stands() { # whether what it answered was all the time of one and the same program
  # shellcheck disable=SC2086
  set -- ${before#before }
  case ${1-Z} in [ZXx]) return 1 ;; esac
  one="${20-} ${49-}"
  # shellcheck disable=SC2086
  set -- ${after#after }
  case ${1-Z} in [ZXx]) return 1 ;; esac
  [ "$one" = "${20-} ${49-}" ] && [ "${49-0}" != 0 ]
}

is_protected() { # a file that may not be looked at is none of those that just were, if its name is known
  case "$known $exe" in 'no none' | ' '*) return 0 ;; esac
  case " $files " in *" $exe "*) return 0 ;; esac
  return 1
}

judge() { # by what it answered
  before='' after='' said_there='' denied='' known='' exe=''
  IFS=$newline
  for line in $answer; do
    case $line in
      'before '*) before=$line ;;
      'environ '*) said_there=${line#* } ;;
      denied) denied=yes ;;
      'after '*) after=$line ;;
      'program '*)
        exe=${line##* } known=${line#* }
        known=${known% *}
        ;;
    esac
  done
  unset IFS
  if [ -z "$after" ]; then
    say result "$number" silent
  elif [ -n "$denied" ] || [ -z "$said_there" ] || ! stands; then
    say result "$number" unreadable
  elif [ "$said_there" != "$expected" ]; then
    blob result "$number" changed "$said_there"
  elif [ -n "$files" ] && is_protected; then
    say result "$number" protected
  # Of what was never begun, whoever hears nothing more can be sure.
  elif ! say begun "$number"; then
    return
  elif ! is_there; then
    say result "$number" gone
  # From here on nothing else is run: a shell has no handle of a process, and its pid could pass to another.
  elif kill -s "$signal" "$pid" 2>/dev/null; then
    say result "$number" signalled
  elif is_there; then
    say result "$number" denied
  else
    say result "$number" gone
  fi
}

detach() { # SHA256 BASE64: puts this in the place of devices.json, if that still is the file that was seen
  wanted=$1 written=$2 content='' outcome='' lock=none pids=''
  if late; then
    outcome=late
  elif ! [ -e "$STATE" ] && ! [ -L "$STATE" ]; then
    outcome=absent
  elif ! enter; then
    outcome="unusable $why"
  elif ! [ -e devices.json ] && ! [ -L devices.json ]; then
    outcome=absent
  elif ! own_folder; then
    outcome=folder
  else
    files=..
    allow "$LOCK_WAIT" 5
    under_lock exchange
    if [ "$lock" = none ]; then
      "$rm" -f lock
      (umask 0 && : >lock) 2>/dev/null && "$ln" -T lock ../genv.lock 2>/dev/null
      under_lock exchange
    fi
    leave_own
  fi
  say lock "$lock"
  # shellcheck disable=SC2086
  blob holders $pids "$(told "$pids")"
  blob detached "${outcome:-locked}" "$content"
  cd /
}

exchange() { # genv's lock is held, and we are in our folder
  regard devices.json
  case $seen in
    'present '*) ;;
    *)
      outcome=$seen
      return
      ;;
  esac
  sum=$(printf %s "$content" | "$base64" -d | "$sha256sum")
  if [ "${sum%% *}" != "$wanted" ]; then
    outcome=$seen
    return
  fi
  content=
  "$rm" -f new
  if ! why=$({ umask 0 && printf %s "$written" | "$base64" -d >new && "$sync" new; } 2>&1); then
    outcome="unwritten ${why%%"$newline"*}"
    "$rm" -f new
    return
  fi
  outcome=restless
  # As late as can be: what others write without the lock must not be lost.
  if [ "$stamp" = "$(stamp_of devices.json)" ] && in_place && say begun detach &&
    "$mv" -f -T new ../devices.json 2>/dev/null; then
    outcome='done'
    "$sync" .. 2>/dev/null
  fi
}
