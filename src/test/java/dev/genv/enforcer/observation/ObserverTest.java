package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.testsupport.TableRow;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is observed on a machine that shows certain facts. {@link FactsMachine} describes it at first, and what the words mean. */
class ObserverTest {
    private static final String GPUS = """
            a process on a device
            → usual

            a process of an unknown user on several devices, and one that has exited
            813 uid 1009 in b; apps 0:812:1 1:813:1 1:814:1 1:812:1
            → 812 of alice in a, 813 of 1009 in b, env a, 0:a

            lines of another form, and of an unknown device
            apps 0:812:1542 0:0812:5 9:900:1; see; text
            → usual, without EVERY_PROCESS, GPU_LINE_UNREADABLE, DEVICE_UNKNOWN → nvidia-smi lists process 900 on GPU-9, which is none of its devices

            no device
            no-gpus; see; text
            → env a, 0:a, without EVERY_PROCESS, GPU_LOST → nvidia-smi lists no device, but active environments are attached to [0]: reset the GPUs or reboot; if there are none, detach the environments

            no device, and no attachment of an active environment
            no-gpus; envs a:1003:alice:4000000
            → nothing

            access to the GPUs that was lost
            see; apps-fail Failed to initialize NVML: Unknown Error; see
            → usual → env a, 0:a, without PROCESSES, GPU_NEEDS_NEW_CONTAINER

            access to the GPUs that this container never had
            apps-fail Failed to initialize NVML: Unknown Error
            → env a, 0:a, without PROCESSES, GPU_ACCESS_DENIED

            access to the GPUs that a login does not have
            login; apps-fail Failed to initialize NVML: Unknown Error
            → env a, 0:a, without PROCESSES, GPU_NEEDS_NEW_CONTAINER

            a GPU that is no longer listed, and then is
            see; gpus 0:1542; see; text; gpus 0:1542 1:0; see
            → usual → usual, without EVERY_PROCESS, GPU_LOST → nvidia-smi listed 1 GPU(s) before that it does not list now (1: GPU-1): reset the GPU or reboot; if it was removed on purpose, restart genv-enforcer → usual

            a GPU that is no longer listed, while the id of the boot cannot be read
            see; boot 0; gpus 0:1542; see
            → usual → usual, unknown machine, without EVERY_PROCESS, GPU_LOST

            a GPU that was removed before a reboot
            see; boot 2; gpus 0:1542; devices 0:a; see
            → usual → usual

            GPUs with other indices
            see; gpus 1:0 0:1542; see; text
            → usual → usual, without ATTACHMENTS, DEVICES_MOVED → the GPUs have other indices than before ({0=1, 1=0}), so it is unknown which GPUs genv's attachments mean: detach all devices in devices.json and restart genv-enforcer, or restore the missing GPU

            another PID namespace, in which nothing is known to have exited
            namespace pid:[4026532281]; exit 812; see; why
            → acts not, without PROCESSES, MISSING_PRIVILEGE → this is not the host's PID namespace: run with --pid=host

            another PID namespace of a login
            login; namespace pid:[4026532281]; see; why
            → env a, 0:a, acts not, without PROCESSES, MISSING_PRIVILEGE → this login is not in the host's PID namespace: log in on the host itself, not in a container

            an unknown machine
            machine-id uninitialized
            → usual, unknown machine

            another enforcer
            enforcer 99; see; text; why; enforcer 0; see; why
            → usual, acts not, SECOND_ENFORCER → another enforcer (process 99) acts on this state directory: this one only observes → another enforcer (process 99) acts on this state directory → usual, acts not, SECOND_ENFORCER → another enforcer acts on this state directory

            another enforcer over SSH
            lease; see; why
            → usual, acts not, SECOND_ENFORCER → another service acts on this host over SSH, or this one did before its restart, and that lease has not expired

            a lock of the enforcers that cannot be used
            no-lock is a directory; see; text
            → usual, ENFORCER_LOCK_UNUSABLE → .genv-enforcer.lock is a directory. Remove the file: it is unknown whether another enforcer acts here too
            """;

    private static final String PROCESSES = """
            a zombie
            812 state Z
            → env a, 0:a, ended

            a process that has exited
            exit 812
            → ended

            a process that was started when its pid was listed, and one that was started after it
            812 start 1000000; see; 812 start 1000001; see
            → usual, ended → env a, 0:a, ended, PID_REUSED

            another process with the pid of the one for whose exit the service waits
            812 start 99
            → usual, ended

            an unreadable stat
            812 state ?; see; text
            → env a, 0:a, without EVERY_PROCESS, PROCESS_UNREADABLE → process 812: why

            a process of another user
            812 uid 1004
            → 812 of bob in a, disputed a, 0:a

            no id, and a pid that no environment lists
            812 outside; envs a:1003:alice:900; 900 in a
            → 812 of alice outside, env a, 0:a

            no id, but environments list its pid: one of its own uid that holds the device is enough, disputed or not
            812 outside; see; envs a:1004:bob:900,812 b:1003:alice:812; devices 0:a,b 1:; 900 uid 1004; see
            → 812 of alice outside excused on [0], env a, 0:a → 812 of alice outside excused on [0], disputed a, env b, 0:a

            no id, and a listing that says nothing: of another uid, of root with a name, and without the device
            812 outside; envs a:1004:bob:812; see; envs a:0:root:812; see; envs a:1003:alice:812 b:1003:alice:812; devices 0: 1:a; see
            → 812 of alice outside, disputed a, 0:a → 812 of alice outside, disputed a, 0:a → 812 of alice outside, env a, env b, 1:a

            no id, and a listing of root without a name, as in every container
            812 outside; envs a:0::812
            → 812 of alice outside excused on [0], disputed a, 0:a

            no id, and environments that list an ancestor, also above one without an id, but not above one of another user
            812 outside parent 900; 900 outside parent 901; 901 outside; envs a:1003:alice:901; see; 900 uid 1004; see
            → 812 of alice outside excused on [0], env a, 0:a → 812 of alice outside, env a, 0:a

            no id, and an ancestor that was not read: each environment of the user may list it
            812 outside parent 900; 901 in a; envs a:1003:alice:901; see; envs a:1004:bob:901; 901 uid 1004; see
            → 812 of alice outside excused on [0], env a, 0:a → 812 of alice outside, env a, 0:a

            an overwritten environ, an ancestor that names an environment, and one that lists this ancestor
            812 outside overwritten parent 900; 900 in b; envs a:1003:alice:900 b:1003:alice:900; see; devices 0:b 1:a; see
            → 812 of alice in b by ANCESTOR excused on [0], env a, env b, 0:a → 812 of alice unknown excused on [0], env a, env b, 0:b, 1:a, MEMBERSHIP_UNKNOWN

            no id, a listed pid, and unreadable attachments: the environment may hold the device
            812 outside; write devices ; see
            → 812 of alice outside excused on [0], env a, without ATTACHMENTS, STATE_UNREADABLE

            an id, which decides alone
            812 in a; envs a:1003:alice:900 b:1003:alice:812; devices 0: 1:a; 900 in a
            → 812 of alice in a, env a, env b, 1:a

            no id, and an unreadable envs.json
            812 outside; write envs ; see; text
            → 812 of alice unknown, without ENVIRONMENTS, STATE_UNREADABLE, MEMBERSHIP_UNKNOWN → process 812 is not checked: names no environment, but it is unknown which environments list its pid

            an environ that was intact before it was not listed
            see; apps; see; 812 overwritten; apps 0:812:1542; see
            → usual → env a, 0:a → 812 of alice unknown excused on [0], env a, 0:a, MEMBERSHIP_UNKNOWN

            an environ that was intact before an incomplete listing without it
            see; apps 9:1:1; see; 812 overwritten; apps 0:812:1542; see
            → usual → env a, 0:a, without EVERY_PROCESS, DEVICE_UNKNOWN → 812 of alice in a by EARLIER, env a, 0:a

            environs that no time was left to read: those that wait the longest come first
            apps 0:5:1 0:6:1; 5 unread; 6 unread; see; text; apps 0:1:1 0:2:1 0:6:1; 1 unread; 2 unread; see; asks; apps 0:3:1 0:2:1 0:1:1; 3 unread; see; asks; apps; see; asks
            → 5 of alice unknown, 6 of alice unknown, env a, 0:a, without EVERY_ENVIRON, PROCESSES_UNREAD, MEMBERSHIP_UNKNOWN, MEMBERSHIP_UNKNOWN → process 6 is not checked: its environ cannot be read: no time was left → 1 of alice unknown PROTECTED, 2 of alice unknown, 6 of alice unknown, env a, 0:a, without EVERY_ENVIRON, PROCESSES_UNREAD, MEMBERSHIP_UNKNOWN, MEMBERSHIP_UNKNOWN, MEMBERSHIP_UNKNOWN → accounts [], first [6, 1, 2], memory → 1 of alice unknown PROTECTED, 2 of alice unknown, 3 of alice unknown, 1539 MiB on 0, env a, 0:a, without EVERY_ENVIRON, PROCESSES_UNREAD, MEMBERSHIP_UNKNOWN, MEMBERSHIP_UNKNOWN, MEMBERSHIP_UNKNOWN, UNEXPLAINED_MEMORY → accounts [], first [1, 2, 3], memory → 1542 MiB on 0, env a, 0:a, UNEXPLAINED_MEMORY → accounts [], first [], memory

            a kernel thread
            812 uid 0 kernel-thread
            → 812 of root in a PROTECTED, disputed a, 0:a

            the first process, and the service itself
            1 in a; 7 in a; apps 0:1:5 0:7:5
            → 1 of alice in a PROTECTED, 7 of alice in a PROTECTED, env a, 0:a

            an exempt user
            exempt alice
            → 812 of alice in a EXEMPT, env a, 0:a

            a user that becomes exempt
            exempt carol; passwd carol:1009 alice:1003; see; passwd carol:1003 alice:1003; see
            → usual → 812 of alice in a EXEMPT, env a, 0:a

            an exempt user who is unknown, and a process of another account
            exempt carol; see; text
            → usual, without EXEMPT_USERS, SETTING_USER_UNKNOWN → user carol of GENV_ENFORCER_EXEMPT_USERS is the name of no account that is known of this host, so nothing is done to processes and environments that may be this user's: give the uid instead, with a plus sign such as +1003

            unreadable accounts
            unreadable passwd; see; text
            → 812 of alice? in a, env a, 0:a, PASSWD_UNREADABLE → the accounts of this host cannot be read from /etc/passwd: Input/output error

            unreadable accounts, and an exempt user
            exempt alice; unreadable passwd; see; passwd alice:1003; see; unreadable passwd; see
            → 812 of alice? in a PERHAPS_EXEMPT, env a, 0:a, without EXEMPT_USERS, PASSWD_UNREADABLE, SETTING_USER_UNKNOWN → 812 of alice in a EXEMPT, env a, 0:a → 812 of alice in a EXEMPT, env a, 0:a, PASSWD_UNREADABLE

            unreadable accounts, and an exempt number: it is a name or a uid
            exempt 1003; unreadable passwd
            → 812 of alice? in a PERHAPS_EXEMPT, env a, 0:a, without EXEMPT_USERS, PASSWD_UNREADABLE, SETTING_USER_UNKNOWN

            an overwritten environ, and an unreadable envs.json
            812 outside overwritten; write envs ; see; text
            → 812 of alice unknown, without ENVIRONMENTS, STATE_UNREADABLE, MEMBERSHIP_UNKNOWN → process 812 is not checked: it has overwritten its environ, and no ancestor shows to which environment it belongs
            """;

    private static final String EXEMPT = """
            a directory that finds nobody because it is down: the process of a uid without an account may be the exempt user's
            812 uid 70011; envs a:70011:svc-infer:812; exempt svc-infer; see; directory-of svc-infer:70011; see
            → 812 of svc-infer? in a PERHAPS_EXEMPT, env a, 0:a, without EXEMPT_USERS, SETTING_USER_UNKNOWN → 812 of svc-infer? in a EXEMPT, env a, 0:a

            a directory that was found once, and is then down, hangs, or is restarted with the service
            812 uid 70011; envs; exempt svc-infer; directory-of svc-infer:70011; see; hours 30; directory-is finds-nobody; see; hours 1; directory-is hangs; see
            → 812 of 70011 in a EXEMPT → 812 of 70011 in a EXEMPT → 812 of 70011 in a EXEMPT, PASSWD_UNREADABLE

            a restart while the directory is down: what was found stays for a day
            812 uid 70011; envs; exempt svc-infer; directory-of svc-infer:70011; see; directory-is finds-nobody; hours 23; restart; see; hours 2; restart; see
            → 812 of 70011 in a EXEMPT → 812 of 70011 in a EXEMPT → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            a wall clock that is set back: what was found stays for a day from then on
            812 uid 70011; envs; exempt svc-infer; directory-of svc-infer:70011; see; directory-is finds-nobody; clock -1000; restart; see; clock 25; restart; see
            → 812 of 70011 in a EXEMPT → 812 of 70011 in a EXEMPT → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            another machine under the name, of which nothing was found
            812 uid 70011; envs; exempt svc-infer; directory-of svc-infer:70011; see; directory-is finds-nobody; machine-id ffffffffffffffffffffffffffffffff; restart; see
            → 812 of 70011 in a EXEMPT → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            a directory that hangs: it is asked again after a minute
            exempt svc-infer; directory-is hangs; 812 uid 70011; envs; see; text; directory-of svc-infer:70011; see; hours 1; see; see
            → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, PASSWD_UNREADABLE, SETTING_USER_UNKNOWN → user svc-infer of GENV_ENFORCER_EXEMPT_USERS is the name of no account that is known of this host, so nothing is done to processes and environments that may be this user's: give the uid instead, with a plus sign such as +1003 → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, PASSWD_UNREADABLE, SETTING_USER_UNKNOWN → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, PASSWD_UNREADABLE, SETTING_USER_UNKNOWN → 812 of 70011 in a EXEMPT

            root is not a user who is unknown
            exempt svc-infer; 812 uid 0; envs
            → 812 of root in a, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            an account of another spelling or without the domain may be the user
            exempt CORP\\Alice; see; exempt bob@corp; restart; 812 uid 1004; envs; see
            → 812 of alice in a PERHAPS_EXEMPT, env a, 0:a, without EXEMPT_USERS, SETTING_USER_UNKNOWN → 812 of bob in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN, SETTING_USER_UNKNOWN

            a directory that answers under another spelling
            exempt SVC-INFER; directory-of SVC-INFER:70011; 812 uid 70011; envs
            → 812 of 70011 in a EXEMPT

            a number that is the name of an account
            exempt 20231234; directory-of 20231234:70011; 812 uid 70011; envs; see; 812 uid 20231234; see
            → 812 of 70011 in a EXEMPT → 812 of 20231234 in a

            a number that is the name of an account in the file
            exempt 20231234; passwd 20231234:1003 root:0
            → 812 of 20231234 in a EXEMPT, disputed a, 0:a

            a number that is the uid of an account in the file: an account of the directory that is not found may have it as its name
            exempt 1003; 812 uid 70011; envs; see; 812 uid 1003; see; 812 uid 1004; see; directory-of 1003:1003; restart; 812 uid 70011; see
            → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN → 812 of alice in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN → 812 of bob in a, without EXEMPT_USERS, SETTING_USER_UNKNOWN → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            the same, and the directory finds the account of that name: the uid counts no more
            exempt 1003; directory-of 1003:70011; 812 uid 70011; envs; see; 812 uid 1003; see
            → 812 of 70011 in a EXEMPT → 812 of alice in a

            the same, while the file cannot be read: it may be what answers
            exempt 1003; unreadable passwd; directory-of 1003:1003; 812 uid 70011; envs
            → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, PASSWD_UNREADABLE, SETTING_USER_UNKNOWN

            the same in a container, of whose host no name service can be asked, and with a plus sign: it is a uid
            exempt 1003; directory-is container; 812 uid 70011; envs; see; 812 uid 1003; see; directory-is answers; exempt +1003; restart; see
            → 812 of 70011 in a → 812 of alice in a EXEMPT → 812 of alice in a EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            a number that is a uid of the directory, which therefore answers
            exempt 70011; directory-of 70011:70011; 812 uid 70011; envs; see; 812 uid 70012; see
            → 812 of 70011 in a EXEMPT → 812 of 70012 in a

            root by its number
            exempt 0; 812 uid 0; envs
            → 812 of root in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            a number of which the directory finds nothing: it is a name or a uid
            exempt 70011; 812 uid 70011; envs; see; 812 uid 70012; see; 812 uid 1004; see
            → 812 of 70011 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN → 812 of 70012 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN → 812 of bob in a, without EXEMPT_USERS, SETTING_USER_UNKNOWN

            a number with a plus sign is a uid
            exempt +70011; 812 uid 70011; envs; see; text; 812 uid 70012; see
            → 812 of 70011 in a EXEMPT, SETTING_USER_UNKNOWN → user +70011 of GENV_ENFORCER_EXEMPT_USERS counts as a uid, of which no account is known on this host → 812 of 70012 in a, SETTING_USER_UNKNOWN

            a container, of whose host no name service can be asked: a number is a uid, and a name is unknown
            exempt 70011; directory-is container; 812 uid 70011; envs; see; 812 uid 70012; see; exempt svc-infer; restart; see
            → 812 of 70011 in a EXEMPT, SETTING_USER_UNKNOWN → 812 of 70012 in a, SETTING_USER_UNKNOWN → 812 of 70012 in a PERHAPS_EXEMPT, without EXEMPT_USERS, SETTING_USER_UNKNOWN, SETTING_USER_UNKNOWN

            a limit of a user who is unknown holds its rule only
            limited carol; 812 uid 70011; envs; see; text
            → 812 of 70011 in a, SETTING_USER_UNKNOWN → user carol of GENV_ENFORCER_MAX_MEMORY_FOR_USER is the name of no account that is known of this host, so its rule does nothing to users who may be this one: give the uid instead, with a plus sign such as +1003

            a number in a limit may be the name of an account that is not found: a directory that is out of reach finds nobody
            limited 70011; 812 uid 70011; envs; see; limit-of 70011 70011; limit-of 70011 70012; limited +70011; restart; see; limit-of +70011 70011; limit-of +70011 70012
            → 812 of 70011 in a, SETTING_USER_UNKNOWN → UNKNOWN → UNKNOWN → 812 of 70011 in a, SETTING_USER_UNKNOWN, SETTING_USER_UNKNOWN → YES → NO

            a number in a limit that is the uid of an account in the file
            limited 1003; 812 uid 70011; envs; see; limit-of 1003 70011; limit-of 1003 1003; limit-of 1003 1004; directory-of 1003:70011; hours 1; see; see; limit-of 1003 70011; limit-of 1003 1003
            → 812 of 70011 in a, SETTING_USER_UNKNOWN → UNKNOWN → UNKNOWN → NO → 812 of 70011 in a → 812 of 70011 in a → YES → NO

            a number in a limit that is the name of an account
            limited 20231234; directory-of 20231234:70011; 812 uid 70011; envs; see; limit-of 20231234 70011; limit-of 20231234 20231234
            → 812 of 70011 in a → YES → NO

            an environment whose live processes have no known uid
            exempt alice; 812 uid 1004; envs a:1004::812; live-uids-unread; see; text; why-detached
            → 812 of bob in a, env a, 0:a, IMMUNITY_UNKNOWN → environment a is not detached: the real uid of its process 812 is unknown, so it may be an exempt user's → it is unknown whether its live processes belong to exempt users

            without exempt users it does not matter
            812 uid 1004; envs a:1004::812; live-uids-unread; see
            → 812 of bob in a, env a, 0:a

            an environment of which all, or not all, live processes may be an exempt user's
            exempt svc-infer; 812 uid 70011; envs a:70011::812; see; why-detached; 900 uid 1004; envs a:70011::812,900; see; why-detached
            → 812 of 70011 in a PERHAPS_EXEMPT, env a, 0:a, without EXEMPT_USERS, SETTING_USER_UNKNOWN → it is unknown whether its live processes belong to exempt users → 812 of 70011 in a PERHAPS_EXEMPT, disputed a, 0:a, without EXEMPT_USERS, SETTING_USER_UNKNOWN → null
            """;

    private static final String CGROUPS = """
            a job of another allocator, and of another name that begins so
            exempt-cgroup /kubepods.slice/; 812 cgroup /kubepods.slice/pod7; see; 812 cgroup /kubepods.slices/pod7; see; 812 cgroup /a/kubepods.slice; see
            → 812 of alice in a EXEMPT_CGROUP, env a, 0:a → usual → usual

            below a unit of a user, who chooses the names there
            exempt-cgroup /user.slice; 812 cgroup /user.slice/user-1003.slice/session-3.scope; see; 812 cgroup /user.slice/user-1003.slice/user@1003.service/app.slice; see
            → 812 of alice in a EXEMPT_CGROUP, env a, 0:a → usual

            an unknown cgroup
            exempt-cgroup /kubepods; 812 cgroup ?; see; text
            → 812 of 1003 in a EXEMPT_CGROUP, env a, 0:a, IMMUNITY_UNKNOWN → process 812 is not terminated: it is unknown whether its cgroup is exempt: why

            in another cgroup namespace
            exempt-cgroup /kubepods; cgroup-root /kubepods/pod1/c1; 812 cgroup /../../pod2/c2; see; 812 cgroup /../../..; see; 812 cgroup /; see; 812 cgroup /../../../user.slice/kubepods; see
            → 812 of alice in a EXEMPT_CGROUP, env a, 0:a → usual → 812 of alice in a EXEMPT_CGROUP, env a, 0:a → usual

            in another cgroup namespace whose place is unknown
            exempt-cgroup /kubepods; cgroup-root ?; 812 cgroup /; see; text
            → 812 of alice in a EXEMPT_CGROUP, env a, 0:a, IMMUNITY_UNKNOWN → process 812 is not terminated: it is unknown whether its cgroup is exempt: why

            exempt until the policy changed; another name; below a unit of a user
            once-exempt-cgroup /slurm; 812 cgroup /slurm/job_7; see; 812 cgroup /slurms; see; 812 cgroup /user.slice/user@5.service/slurm; see
            → 812 of alice in a EXEMPT_CGROUP_BEFORE, env a, 0:a → usual → usual

            exempt by another cgroup of the present policy
            once-exempt-cgroup /slurm/a; exempt-cgroup /slurm; 812 cgroup /slurm/a/job_7; see
            → 812 of alice in a EXEMPT_CGROUP, env a, 0:a

            exempt until the policy changed, and of an exempt user
            once-exempt-cgroup /slurm; exempt alice; 812 cgroup /slurm/job_7; see; 812 cgroup /; see
            → 812 of alice in a EXEMPT_CGROUP, env a, 0:a → 812 of alice in a EXEMPT, env a, 0:a

            an unknown cgroup that may have been exempt
            once-exempt-cgroup /slurm; 812 cgroup ?; see; text
            → 812 of 1003 in a EXEMPT_CGROUP, env a, 0:a, IMMUNITY_UNKNOWN → process 812 is not terminated: it is unknown whether its cgroup is exempt: why

            without the setting nothing of it matters
            cgroup-root ?; 812 cgroup /kubepods
            → usual
            """;

    private static final String GROUPS = """
            nothing is asked without a limit of a group
            see; asks-groups; is-in phd alice 1003
            → usual → groups [], users [] → UNKNOWN

            a group and its users, who are asked for when they were observed
            limited-group phd; limited-group 601; directory-of phd:600; member-of alice 1 600; asks-groups; see; is-in phd alice 1003; asks-groups; see; is-in phd alice 1003; is-in 601 alice 1003; is-in phd bob 1004
            → groups [phd], users [] → usual → UNKNOWN → groups [], users [alice] → usual → YES → NO → UNKNOWN

            by the uid, and by a name that is no account
            limited-group 600; member-of alice 1 600; see; see; is-in 600 1003 1003; is-in 600 carol 1003; is-in 600 carol 1009
            → usual → usual → YES → YES → UNKNOWN

            a group that is not found: everybody may be in it
            limited-group phd; member-of alice 1 600; see; text; see; is-in phd alice 1003
            → usual, SETTING_USER_UNKNOWN → group phd of GENV_ENFORCER_MAX_MEMORY_FOR_GROUP is the name of no group that is known of this host, so its rule does nothing to users who may be in it: correct the name, or give the number (gid) → usual, SETTING_USER_UNKNOWN → UNKNOWN

            a group that only an earlier answer had: perhaps, for a day
            limited-group 600; member-of alice 1 600; see; see; member-of alice 1; hours 1; see; see; is-in 600 alice 1003; hours 24; see; see; is-in 600 alice 1003
            → usual → usual → usual → usual → UNKNOWN → usual → usual → NO

            an answer without a group is none: every user has a primary group
            limited-group 600; member-of alice; see; see; is-in 600 alice 1003
            → usual → usual → UNKNOWN

            a directory that is down at the start: nobody is known to be in no group
            limited-group 600; directory-is finds-nobody; see; see; is-in 600 alice 1003; asks-groups; member-of alice 600; hours 1; see; see; is-in 600 alice 1003
            → usual → usual → UNKNOWN → groups [], users [] → usual → usual → YES

            a directory that hangs
            limited-group 600; directory-is hangs; see; see; text; is-in 600 alice 1003; member-of alice 600; hours 1; see; see; is-in 600 alice 1003
            → usual → usual, PASSWD_UNREADABLE → the name service of this host does not answer: it hangs → UNKNOWN → usual, PASSWD_UNREADABLE → usual → YES

            what was found stays known: also in another run of the service, when the directory is down
            limited-group phd; directory-of phd:600; member-of alice 1 600; see; see; directory-is finds-nobody; hours 2; see; see; is-in phd alice 1003; restart; see; see; is-in phd alice 1003
            → usual → usual → usual → usual → YES → usual → usual → YES

            for a day in another run
            limited-group 600; member-of alice 1 600; see; see; directory-is finds-nobody; hours 24; restart; see; is-in 600 alice 1003
            → usual → usual → usual → UNKNOWN

            in another machine of that name
            limited-group 600; member-of alice 1 600; see; see; directory-is finds-nobody; restart; machine-id 1123456789abcdef0123456789abcdef; see; is-in 600 alice 1003
            → usual → usual → usual → UNKNOWN

            a user who left a group is in it for a day: a directory that is out of reach answers without its groups
            limited-group 600; member-of alice 1 600; see; see; member-of alice 1; hours 23; see; is-in 600 alice 1003; hours 1; see; is-in 600 alice 1003
            → usual → usual → usual → YES → usual → NO

            a clock that is set back
            limited-group 600; member-of alice 1; see; see; clock -9000; member-of alice 1 600; see; see; is-in 600 alice 1003
            → usual → usual → usual → usual → YES
            """;

    private static final String USERS = """
            a uid of two accounts of which one is recorded
            passwd al:1003 alice:1003
            → usual

            a uid of two accounts of which none is recorded
            passwd al:1003 alice:1003; envs
            → 812 of al in a

            a uid of no account
            812 uid 1009; see; asks
            → 812 of 1009 in a, disputed a, 0:a → accounts [1009], first []

            a uid of no account with a recorded name, which outlives its environment
            812 uid 1009; envs a:1009:carol:812; see; envs; see
            → 812 of carol? in a, env a, 0:a → 812 of carol? in a

            a uid with two recorded names
            812 uid 1009; envs a:1009:carol:812 b:1009:dora:812
            → 812 of 1009 in a, env a, env b, 0:a

            a name that a disputed environment records
            812 uid 1009; envs a:1009:bob:812
            → 812 of 1009 in a, disputed a, 0:a

            a uid in a container of root
            812 cgroup /system.slice/docker-ID.scope
            → 812 of 1003 in a, env a, 0:a

            a subordinate uid in a container of root
            812 uid 100001 uid-map 0:1003:1,1:100000:65536 cgroup /system.slice/docker-ID.scope; envs
            → 812 of alice in a

            unreadable subordinate uids
            812 uid 100001 uid-map 0:1003:1,1:100000:65536; envs; see; unreadable subuid; see; text
            → 812 of alice in a → 812 of alice in a, PASSWD_UNREADABLE → the subordinate uids of the users cannot be read from /etc/subuid: Input/output error
            """;

    /** Alice has the subordinate uids from 100000 to 165535, in which uids of a directory service can lie. */
    private static final String SUBORDINATE = """
            a user namespace that only alice can have made: it maps her, or several of her uids
            812 uid 100001 uid-map 0:1003:1,100001:100001:1; envs; see; 812 uid-map 0:100000:65536; see
            → 812 of alice in a → 812 of alice in a

            the first user namespace: a program with the set-user-ID bit keeps a subordinate uid
            812 uid 100001; envs; see; passwd root:0 alice:1003 dora:100001; see
            → 812 of 100001 in a, OWNER_UNKNOWN → 812 of dora in a

            a user namespace with several uids, of which no range is known
            812 uid 300001 uid-map 0:1003:1,1:300000:65536; envs; see; text; 812 uid-map 0:0:400000; see; 812 uid-map 0:300001:1; see; unreadable subuid; 812 uid-map 0:300000:65536; see
            → 812 of 300001 in a, OWNER_UNKNOWN → process 812 is of uid 300001, which is in no known range of subordinate uids, and its user namespace does not show whose it is → 812 of 300001 in a → 812 of 300001 in a → 812 of 300001 in a, PASSWD_UNREADABLE, OWNER_UNKNOWN

            an exempt user's subordinate uid, and one that may be
            exempt alice; 812 uid 100001 uid-map 0:1003:1,1:100000:65536; envs; see; 812 uid-map 0:100001:1; see
            → 812 of alice in a EXEMPT → 812 of 100001 in a PERHAPS_EXEMPT, OWNER_UNKNOWN

            a user namespace that every user can make for the own uid, and an account
            812 uid 100001 uid-map 0:100001:1; envs; passwd root:0 alice:1003 dora:100001
            → 812 of dora in a

            an account whose uid alice has in a container
            812 uid 100001 uid-map 0:1003:1,1:100000:65536; envs; passwd root:0 alice:1003 dora:100001
            → 812 of alice in a

            no account, and a user namespace that shows nothing more, or that cannot be read
            812 uid 100001 uid-map 0:100001:1; envs; see; text; 812 uid-map x; see; 812 uid-map ?; see; 812 uid-map 0:0:4294967295:1; see
            → 812 of 100001 in a, OWNER_UNKNOWN → process 812 is of uid 100001, which is in the range of subordinate uids of uid 1003, and its user namespace does not show whose it is → 812 of 100001 in a, OWNER_UNKNOWN → 812 of 100001 in a, OWNER_UNKNOWN → 812 of 100001 in a, OWNER_UNKNOWN

            a uid in no range needs no proof
            812 uid-map ?
            → usual

            a nameless environment of a subordinate uid counts for the owner, with a process that shows it or without
            envs a:100001::812; 812 uid 100001 uid-map 0:1003:1,1:100000:65536; see; users; apps; see; users
            → usual → a of alice → env a, 0:a → a of alice

            a nameless environment of a uid that processes do not show to be a subordinate one, or that has an account
            envs a:100001::812; 812 uid 100001; see; users; 812 uid-map ?; see; users; 812 uid-map 0:100001:1; passwd root:0 alice:1003 dora:100001; see; users
            → 812 of 100001 in a, env a, 0:a, OWNER_UNKNOWN → a of 100001 → 812 of 100001 in a, env a, 0:a, OWNER_UNKNOWN → a of 100001 → 812 of dora in a, env a, 0:a → a of dora

            an invented name for a subordinate uid is disputed, and one of a directory service is not
            envs a:100001:zoe:812; 812 uid 100001 uid-map 0:1003:1,1:100000:65536; see; 812 uid-map 0:0:4294967295; see; users
            → 812 of alice in a, disputed a, 0:a → 812 of 100001 in a, env a, 0:a, OWNER_UNKNOWN → a of zoe
            """;

    private static final String REUSED = """
            a process that was started while an exited one was listed
            exited; see; 900 start 999995; see; see; asks
            → nothing → PID_REUSED → PID_REUSED → accounts [], first [], memory

            a process with the pid of another listed one
            exited; 900 start 999991; see; 900 start 999995; see
            → 900 of alice outside → PID_REUSED

            a failed listing forgets no pid
            exited; see; apps-fail why; see; apps 0:900:9000; 900 start 999995; see
            → nothing → without PROCESSES, GPU_TOOL_FAILED → PID_REUSED

            an incomplete listing forgets no pid of the last complete one
            exited; see; apps 9:901:10; see; see; apps 0:900:9000; 900 start 999995; see
            → nothing → without EVERY_PROCESS, DEVICE_UNKNOWN → without EVERY_PROCESS, DEVICE_UNKNOWN → PID_REUSED

            an incomplete listing forgets a pid that only incomplete ones had: otherwise the pids of all processes would be kept while a GPU is lost
            exited; apps 0:900:9000 9:901:10; see; apps 9:901:10; see; apps 0:900:9000 9:901:10; 900 start 999995; see
            → without EVERY_PROCESS, DEVICE_UNKNOWN → without EVERY_PROCESS, DEVICE_UNKNOWN → 900 of alice outside, without EVERY_PROCESS, DEVICE_UNKNOWN

            a listing without the pid forgets it
            exited; see; apps; see; apps 0:900:9000; 900 start 999995; see
            → nothing → nothing → 900 of alice outside

            a reboot makes the service forget it
            exited; see; boot 2; 900 start 999995; see
            → nothing → 900 of alice outside

            a process that was started during the listing: it is not known whether that was before the tool listed its pid
            exited; 900 start 1000001; see; now 1000002; see
            → nothing → 900 of alice outside

            a process that was started during the listing and was unreadable
            exited; 900 start 1000001 state ?; see; 900 state S; now 1000002; see
            → without EVERY_PROCESS, PROCESS_UNREADABLE → 900 of alice outside

            an unreadable process makes the service forget nothing
            exited; see; 900 start 999995 state ?; see; 900 state S; see
            → nothing → without EVERY_PROCESS, PROCESS_UNREADABLE → PID_REUSED

            memory of a process that has exited: in the first observation it may just have exited
            exited; asks; see; asks; see; see; see; asks; see
            → accounts [], first [] → nothing → accounts [], first [], memory → nothing → nothing → 9000 MiB on 0, UNEXPLAINED_MEMORY → accounts [], first [], memory → 9000 MiB on 0, UNEXPLAINED_MEMORY

            a process with the pid of an exited one: what the exited one held is not explained
            exited; see; see; see; see; 900 start 999995; see; see
            → nothing → nothing → nothing → 9000 MiB on 0, UNEXPLAINED_MEMORY → 9000 MiB on 0, PID_REUSED, UNEXPLAINED_MEMORY → 9000 MiB on 0, PID_REUSED, UNEXPLAINED_MEMORY
            """;

    private static final String STATE = """
            no files
            remove envs; remove devices
            → 812 of alice in a, no genv

            no directory
            directory 0
            → 812 of alice in a, no genv

            a torn envs.json
            write envs {"envs": [; see; text
            → 812 of alice in a, without ENVIRONMENTS, STATE_UNREADABLE → envs.json is not JSON: it ends too early (line 1, column 11)

            no devices.json
            remove devices; see; text
            → 812 of alice in a, env a, without ATTACHMENTS, STATE_INCOMPLETE → devices.json is missing although environments are active

            no envs.json
            remove envs; see; text
            → 812 of alice in a, without ENVIRONMENTS, STATE_INCOMPLETE → envs.json is missing although devices are, or may be, attached

            no envs.json, and an unreadable devices.json: a user can cause both, so nobody counts as outside
            remove envs; write devices ; 812 outside
            → 812 of alice unknown, without ENVIRONMENTS, without ATTACHMENTS, STATE_UNREADABLE, STATE_INCOMPLETE, MEMBERSHIP_UNKNOWN

            no envs.json, and devices without attachments
            remove envs; devices 0: 1:
            → 812 of alice in a

            unreadable files
            write envs ; write devices\s
            → 812 of alice in a, without ENVIRONMENTS, without ATTACHMENTS, STATE_UNREADABLE, STATE_UNREADABLE

            a device that is not described
            devices 0:a; see; text
            → usual, DEVICE_UNDESCRIBED → devices.json does not describe the device(s) [1]: they count as attached to no environment

            a device that is not described, with a process of the environment
            devices 0:a; apps 0:812:1542 1:812:5; broken
            → Process 812 from environment a is using non-attached GPU(s) 1

            a device whose entry is invalid
            write devices {"devices": [{"index": 0, "attachments": [{"eid": "a"}]}, {"index": 1, "attachments": 7}]}; see; apps 1:812:5; broken
            → usual, ENTRY_UNREADABLE, DEVICE_UNDESCRIBED → Process 812 from environment a is using non-attached GPU(s) 1

            no device that is described: the state is as good as missing
            devices; apps 1:812:5; see; text; broken
            → 812 of alice in a, env a, without ATTACHMENTS, STATE_INCOMPLETE → devices.json describes no device although environments are active → nothing

            only a device that is not listed
            devices 7:a; see; text
            → 812 of alice in a, env a, 7:a, without ATTACHMENTS, DEVICE_UNLISTED, STATE_INCOMPLETE → devices.json describes no device although environments are active

            no device that is described, and no environment
            devices; envs
            → 812 of alice in a

            a device that is not described, without an environment
            devices 0:a; envs
            → 812 of alice in a

            devices that are not described in an unreadable file
            write devices\s
            → 812 of alice in a, env a, without ATTACHMENTS, STATE_UNREADABLE

            an attachment to a device that is not listed
            devices 0:a 1: 7:a; see; text
            → usual, 7:a, DEVICE_UNLISTED → active environments are attached to the device(s) [7], which nvidia-smi does not list

            an attachment to a device that is not listed, while nvidia-smi fails
            devices 0:a 1: 7:a; apps-fail why
            → env a, 0:a, 7:a, without PROCESSES, GPU_TOOL_FAILED

            an attachment to a device that is not listed, while the listing is incomplete
            devices 0:a 1: 7:a; apps 0:812:1 9:1:1
            → usual, 7:a, without EVERY_PROCESS, DEVICE_UNKNOWN

            20 attachments to devices that are not listed
            devices 0:a 1: 2:a 3:a 4:a 5:a 6:a 7:a 8:a 9:a 10:a 11:a 12:a 13:a 14:a 15:a 16:a 17:a 18:a 19:a 20:a 21:a; see; text
            → usual, 2:a, 3:a, 4:a, 5:a, 6:a, 7:a, 8:a, 9:a, 10:a, 11:a, 12:a, 13:a, 14:a, 15:a, 16:a, 17:a, 18:a, 19:a, 20:a, 21:a, DEVICE_UNLISTED → active environments are attached to the device(s) [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21], which nvidia-smi does not list

            21 attachments to devices that are not listed
            devices 0:a 1: 2:a 3:a 4:a 5:a 6:a 7:a 8:a 9:a 10:a 11:a 12:a 13:a 14:a 15:a 16:a 17:a 18:a 19:a 20:a 21:a 22:a; see; text
            → usual, 2:a, 3:a, 4:a, 5:a, 6:a, 7:a, 8:a, 9:a, 10:a, 11:a, 12:a, 13:a, 14:a, 15:a, 16:a, 17:a, 18:a, 19:a, 20:a, 21:a, 22:a, DEVICE_UNLISTED → active environments are attached to the device(s) [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21] and more, which nvidia-smi does not list

            an environment without live pids
            envs a:1003:alice:4000000
            → 812 of alice in a

            an environment without live pids, and no devices.json
            envs a:1003:alice:4000000; remove devices
            → 812 of alice in a

            a running kernel
            envs a:1003:alice::k; kernels kernel-k.json kernel-j.json
            → usual

            a kernel that does not run
            envs a:1003:alice::k; kernels kernel-kk.json
            → 812 of alice in a

            kernels that are unknown
            envs a:1003:alice::k b:1004:bob:4000000 c:1003:alice:812; unsearched process 51 of uid 1003: why; see; text
            → 812 of alice in a, env a, env c, 0:a, KERNELS_UNKNOWN → the running Jupyter kernels are unknown, so environments with kernels count as active: process 51 of uid 1003: why

            kernels that are unknown, and nobody needs
            envs a:1003:alice:812:k; unsearched process 51 of uid 1003: why
            → usual

            an environment that is recorded twice
            envs a:1003:alice:812 a:1003:alice:812; see; text
            → usual, ENTRY_UNREADABLE → environment a is there more than once

            another state directory
            see; directory 2; see; text
            → usual → usual, STATE_DIRECTORY_REPLACED → STATE is another directory than at the previous observation: the state in that one is not read

            a state directory that is gone
            see; directory 0; see; text
            → usual → 812 of alice in a, no genv, STATE_DIRECTORY_REPLACED → STATE existed at an earlier observation and is gone

            processes that cannot be listed
            no-proc; see; text
            → 812 of alice in a, without ENVIRONMENTS, PROC_UNREADABLE → the active environments are unknown: why

            the uids of what environments list, and of their shells
            900 uid 1004; 901; envs a:1003:alice:812,4711 901:1004:bob:900 902:1003:alice:812; see; uids
            → 812 of alice in a, env 901, env 902, env a, 0:a → 901 [1004] not all known, 902 [1003] known, a [1003] known
            """;

    private static final String UNEXPLAINED = """
            memory that no process explains, and more of it
            gpus 0:1542 1:4096; see; see; asks; see; text; gpus 0:1542 1:5000; see; text
            → usual → usual → accounts [], first [], memory → 812 of alice in a, 4096 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY → 4096 MiB on GPU 1 belong to no listed process; `fuser -v /dev/nvidia1` shows which processes hold the GPU → 812 of alice in a, 5000 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY → 4096 MiB on GPU 1 belong to no listed process; `fuser -v /dev/nvidia1` shows which processes hold the GPU

            memory of several GPUs, beside a listed process
            gpus 0:9542 1:4096; see; see; see
            → usual → usual → 812 of alice in a, 8000 MiB on 0, 4096 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY, UNEXPLAINED_MEMORY

            memory that becomes unknown is not reported, and counts anew when it is known
            gpus 0:1542 1:4096; see; see; see; gpus 0:1542 1:[N/A]; see; gpus 0:1542 1:4096; see; see; apps 0:812:1542 1:812:[N/A]; see; apps 0:812:1542; see; see; see
            → usual → usual → 812 of alice in a, 4096 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY → 812 of alice in a, unknown memory on 1, env a, 0:a → usual → usual → 812 of alice in a, unknown memory on 1, env a, 0:a → usual → usual → 812 of alice in a, 4096 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY

            memory that is tolerated
            gpus 0:1542 1:512; see; see; see; asks; gpus 0:1542 1:513; see; see; asks; see
            → usual → usual → usual → accounts [], first [] → usual → usual → accounts [], first [], memory → 812 of alice in a, 513 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY

            memory of an unknown process, of an unknown amount, and that was not read anew
            apps 0:812:1542 1:812:[N/A]; gpus 0:1542 1:4096; see; see; see; asks; apps 0:812:1542; gpus 0:1542 1:[N/A]; see; see; see; asks; gpus-are-old; gpus 0:1542 1:4096; see; see; see; asks
            → 812 of alice in a, unknown memory on 1, env a, 0:a → 812 of alice in a, unknown memory on 1, env a, 0:a → 812 of alice in a, unknown memory on 1, env a, 0:a → accounts [], first [] → 812 of alice in a, unknown memory on 1, env a, 0:a → 812 of alice in a, unknown memory on 1, env a, 0:a → 812 of alice in a, unknown memory on 1, env a, 0:a → accounts [], first [] → usual → usual → usual → accounts [], first []

            memory that was explained once
            gpus 0:1542 1:4096; see; see; asks; gpus 0:1542 1:0; see; asks; gpus 0:1542 1:4096; see; see; asks
            → usual → usual → accounts [], first [], memory → usual → accounts [], first [] → usual → usual → accounts [], first [], memory

            an incomplete listing begins anew
            gpus 0:1542 1:4096; see; see; apps 0:812:1542 9:1:1; see; asks; apps 0:812:1542; see; see; asks; see
            → usual → usual → usual, without EVERY_PROCESS, DEVICE_UNKNOWN → accounts [], first [] → usual → usual → accounts [], first [], memory → 812 of alice in a, 4096 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY

            a failed listing ends nothing
            gpus 0:1542 1:4096; see; see; see; apps-fail why; see; asks; apps 0:812:1542; see; gpus 0:1542 1:0; see
            → usual → usual → 812 of alice in a, 4096 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY → env a, 0:a, without PROCESSES, GPU_TOOL_FAILED → accounts [], first [], memory → 812 of alice in a, 4096 MiB on 1, env a, 0:a, UNEXPLAINED_MEMORY → usual
            """;

    static Stream<TableRow> rows() {
        return TableRow.in(GPUS, PROCESSES, EXEMPT, CGROUPS, GROUPS, USERS, SUBORDINATE, REUSED, STATE, UNEXPLAINED);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void isObserved(TableRow row) {
        var machine = new FactsMachine();
        row.lines().forEach(machine::follow);
        assertThat("→ " + String.join(" → ", machine.found())).isEqualTo(row.expected());
    }

    @Test
    void statusIsThatOfTheLastAnswer() {
        var machine = new FactsMachine().follow("status 0, 1, 2, 40, 5, 6, A");
        assertThat(machine.see(false).details().devices()).isEmpty();
        assertThat(machine.see(true).details().devices())
                .singleElement()
                .satisfies(device -> assertThat(device.used()).isEqualTo(Memory.ofMebibytes(1)));
        machine.follow("status-fail why");
        assertThat(machine.see(false).details().devices()).hasSize(1);
        assertThat(machine.see(true).details().devices()).isEmpty();
        assertThat(machine.see(false).problems())
                .extracting(Problem::detail)
                .containsExactly("nvidia-smi exited with 9: why");
        machine.follow("status 0, 1, 2, 40, 5, 6, A; apps-fail why");
        assertThat(machine.see(true).details().devices()).isEmpty();
    }

    @Test
    void cgroupIsReadInEachObservation() {
        var machine = new FactsMachine();
        for (var path : List.of("/a", "/b")) {
            machine.follow("812 cgroup " + path);
            assertThat(machine.see(false).processes().getFirst().workload())
                    .isEqualTo(new Workload(path, null, null, null));
        }
    }
}
