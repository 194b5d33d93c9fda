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
  while [ "${now#0?}" != "$now" ]; do
    now=${now#0} # it would be read as octal
  done
}

allow() { # MOST SPARE: sets $hundredths and $seconds: MOST, or what leaves SPARE percent of all the time for the rest
  clock
  hundredths=$((finish - now - BUDGET * $2 / 100))
  [ "$hundredths" -le "$1" ] || hundredths=$1
  [ "$hundredths" -ge 20 ] || hundredths=20
  in_seconds
}

in_seconds() { # sets $seconds to what $hundredths are
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
  case $(command -v printf) in
    */*) # its arguments, and so the word of this request, could be seen by everybody
      say lacks printf of its own
      lacking='printf'
      ;;
  esac
  need base64 && base64=$found
  need date && date=$found
  need dd && dd=$found
  need env && env=$found
  need flock && flock=$found
  need grep && grep=$found
  need head && head=$found
  need ln && ln=$found
  need mkdir && mkdir=$found
  need mktemp && mktemp=$found
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

told() { # PIDS: their stats, in base64
  # shellcheck disable=SC2086
  stats $1 2>/dev/null | "$base64" -w0
}

answer() { # COMMAND...: all that it says, and that this is all
  "$@"
  say end $((said + 1))
}
