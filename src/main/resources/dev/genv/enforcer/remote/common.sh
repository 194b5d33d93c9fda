#!/bin/sh
# What looking and acting have in common. It is handed to a shell on standard input, behind assignments to the names in
# capitals and in front of what is to be done; until the last line has come, nothing of it runs.
#
# Each line that is meant for us begins with @ and the word of this one request. Nobody on the machine can know it: it
# is in no argument and in no variable of any program. What users can influence is in base64 besides.

newline='
'

say() { # WORDS...: one line of the answer
  said=$((said + 1))
  printf '@%s %s\n' "$NONCE" "$*"
}

blob() { # WORDS... BASE64: the same, ending in a text with its length, so that nothing can be lost of it unseen
  words=
  while [ $# -gt 1 ]; do
    words="$words$1 "
    shift
  done
  say "$words${#1} $1"
}

clock() { # sets $now, in hundredths of a second since the machine was started
  read -r now _ <"$PROC/uptime"
  now=${now%.*}${now#*.}
}

allow() { # MOST SPARE, in hundredths: sets $seconds, as much of MOST as leaves SPARE for what comes after
  clock
  hundredths=$((finish - now - $2))
  [ "$hundredths" -le "$1" ] || hundredths=$1
  [ "$hundredths" -ge 20 ] || hundredths=20
  seconds=$((hundredths / 100)).$((hundredths / 10 % 10))$((hundredths % 10))
}

locate() { # PROGRAM: sets $found
  for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
    found=$folder/$1
    if [ -f "$found" ] && [ -x "$found" ]; then
      return 0
    fi
  done
  return 1
}

need() { # PROGRAM: sets $found; called by its path, no shell takes one of its own for it
  locate "$1" || {
    say lacks "$1"
    lacking="$lacking $1"
    found=false
  }
}

begin() { # sets the programs, and when all must be over; fails where one of them is not there
  set -u
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  LC_ALL=C
  export PATH LC_ALL
  unset IFS
  umask 077
  cd /
  said=0 lacking=
  printf '\n' # whatever a login says in front, it may not have ended its line
  clock
  finish=$((now + BUDGET))
  need base64 && base64=$found
  need dd && dd=$found
  need env && env=$found
  need flock && flock=$found
  need grep && grep=$found
  need head && head=$found
  need ln && ln=$found
  need mkdir && mkdir=$found
  need mv && mv=$found
  need readlink && readlink=$found
  need rm && rm=$found
  need rmdir && rmdir=$found
  need sha256sum && sha256sum=$found
  need sleep && sleep=$found
  need sort && sort=$found
  need stat && stat=$found
  need sync && sync=$found
  need tail && tail=$found
  need timeout && timeout=$found
  need tr && tr=$found
  need uniq && uniq=$found
  [ -z "$lacking" ]
}

me() { # who we are and what we may do
  uid='' capabilities=''
  while read -r key first second _; do
    case $key in
      Uid:) uid=$second ;;
      CapEff:) capabilities=$first ;;
    esac
  done <"$PROC/self/status"
  say me $$ "$uid" "$capabilities" "$("$readlink" "$PROC/self/ns/pid")"
}

stats() { # PIDS...: what the kernel says of each; none of it waits for the process
  for pid; do
    if [ -e "$PROC/$pid/stat" ]; then
      printf '@%s stat %s\n' "$NONCE" "$pid"
      while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line"
      done <"$PROC/$pid/stat"
      while read -r key first _; do
        case $key in
          Uid:)
            printf '@%s uid %s %s\n' "$NONCE" "$pid" "$first"
            break
            ;;
        esac
      done <"$PROC/$pid/status"
    else
      printf '@%s gone %s\n' "$NONCE" "$pid"
    fi
  done
}

enter() { # goes into the state directory; sets $directory, what tells it from every other; fails with $why
  if [ -L "$STATE" ]; then
    why='is a symbolic link'
  elif ! [ -d "$STATE" ]; then
    why='is not a directory'
  elif ! cd -P -- "$STATE" 2>/dev/null; then
    why='cannot be entered'
  else
    # shellcheck disable=SC2046
    set -- $("$stat" -c '%d:%i %W' . "$STATE" 2>/dev/null)
    directory=${1-} born=${2-}
    [ "$directory $born" != "${3-} ${4-}" ] || return 0
    why='is replaced while it is looked at'
  fi
  return 1
}

own_folder() { # goes into the folder that is ours alone, and takes away what others put there
  for _ in 1 2 3; do
    [ -e "$OWN" ] || "$mkdir" -m 700 "$OWN" 2>/dev/null
    if ! [ -L "$OWN" ] && [ -d "$OWN" ] && cd -P "$OWN" 2>/dev/null; then
      # Nobody else can make a folder of ours in there; he could only have put a link in its place, to one elsewhere.
      # shellcheck disable=SC2046
      set -- $("$stat" -c '%u %a %d:%i' . .. 2>/dev/null)
      [ "${1-} ${2-} ${6-}" != "$uid 700 $directory" ] || return 0
      set -- "$directory"
      enter && [ "$directory" = "$1" ] || return 1
    fi
    "$rm" -f "$OWN" 2>/dev/null || "$rmdir" "$OWN" 2>/dev/null || "$mv" -T "$OWN" "$OWN-not-ours-$$" 2>/dev/null
  done
  return 1
}

link_lock() { # in our folder, where nobody can exchange it: gives genv's lock another name; fails where there is none
  # shellcheck disable=SC2046
  set -- $("$stat" -c %d:%i lock ../genv.lock 2>/dev/null)
  if [ $# -eq 2 ] && [ "$1" = "$2" ]; then
    return 0
  fi
  "$rm" -f lock
  "$ln" -P -T ../genv.lock lock 2>/dev/null
}

under_lock() { # COMMAND: runs it with genv's lock held; sets $lock: held, none, timeout SECONDS, or unusable WHY
  for _ in 1 2 3 4 5; do
    lock=none
    if ! link_lock; then
      if [ -e ../genv.lock ] || [ -L ../genv.lock ]; then
        lock='unusable cannot be linked'
      fi
    elif [ -L lock ] || ! [ -f lock ]; then
      "$rm" -f lock
      lock='unusable is not a regular file'
    else
      lock='unusable cannot be opened'
      hold "$1" 9<lock
    fi
    [ "$lock" = replaced ] || return
  done
  lock='unusable is replaced again and again'
}

hold() { # COMMAND: the same, for the lock file at descriptor 9
  "$flock" -w "$seconds" 9 2>/dev/null
  case $? in
    0) ;;
    1)
      lock="timeout $seconds"
      return
      ;;
    *)
      lock='unusable cannot be locked'
      return
      ;;
  esac
  lock=replaced
  # shellcheck disable=SC2046
  set -- "$1" $("$stat" -c %d:%i lock ../genv.lock 2>/dev/null)
  if [ $# -eq 3 ] && [ "$2" = "$3" ]; then
    lock=held
    "$1"
  fi
}

holders() { # INODE: sets $pids to those that hold the lock of this file
  # shellcheck disable=SC2046
  set -- $("$grep" -E "^[0-9]+: FLOCK +[A-Z]+ +[A-Z]+ +-?[0-9]+ [0-9a-f]+:[0-9a-f]+:$1 0 EOF" "$PROC/locks" 2>/dev/null |
    "$head" -n 20)
  pids=
  while [ $# -ge 8 ]; do
    pids="$pids $5"
    shift 8
  done
}

told() { # PIDS: their stats, in base64
  # shellcheck disable=SC2086
  stats $1 2>/dev/null | "$base64" -w0
}

answer() { # COMMAND...: all that it says, and that this is all
  "$@"
  say end $((said + 1))
}
