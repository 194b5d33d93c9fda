package dev.genv.enforcer.e2e.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.browser.Pictures;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.temporal.TemporalAdjusters;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The questions of the page on operation, each with the clicks and the command that it names, over one service with two machines. */
class QuestionsIT extends PageSuite {
    private static final Path DOCUMENT = Path.of("src/site/markdown/operate.md");
    /** The question, the steps on the page, and the command. */
    private static final Pattern ROW = Pattern.compile("(?m)^\\| ([^|]+\\?) \\| ([^|]+) \\| `(curl .+)` \\|$");

    private static final int MOST_CLICKS = 2;
    private static final long ALICE = 54_011;
    private static final long BOB = 54_012;
    private static final int DEVICES = 8;

    private final List<Child> children = new ArrayList<>();
    private Child job;
    private Child lost;
    private Child stubborn;
    private RealHosts hosts;
    private RealSshd machine;
    private RealSshd unreachable;

    /** Where the page shows an answer, a pattern of its text there, and one of the output of the command. */
    private record Answer(String selector, String text, String output) {}

    @AfterEach
    void closeMachines() throws IOException {
        children.forEach(Child::close);
        if (hosts != null) { // the requirement may be missing
            hosts.close();
        }
    }

    @Test
    void atMostTwoClicksOrOneCommandAnswerEachQuestion() throws IOException {
        Requirements.program("/usr/bin/jq", "jq");
        Requirements.program("/usr/bin/curl", "curl");
        hosts = new RealHosts(directory.resolve("hosts"));
        machine = hosts.start("gpu-1").addUser("alice", ALICE).addUser("bob", BOB);
        unreachable = hosts.start("gpu-2");
        unreachable.stop();
        useMachine();
        addEarlierHours();
        setUpService();
        startService();
        lost.awaitExit();
        var answers = answers();

        var rows = ROW.matcher(Files.readString(DOCUMENT)).results().toList();

        assertThat(rows).extracting(row -> row.group(1)).containsExactlyInAnyOrderElementsOf(answers.keySet());
        var window = openWindow();
        for (var row : rows) {
            check(window, row, Objects.requireNonNull(answers.get(row.group(1))));
        }
        takePictures(window);
    }

    /** Takes the pictures of the documents, in the order of {@link Pictures#NAMES}. */
    private static void takePictures(Window window) throws IOException {
        window.open("").awaitText(".tile", "Busy");
        Pictures.take(window, "hosts", 1200, 960);
        window.open("#/violations?status=resolved");
        window.page().locator(".violation a.message").first().click();
        window.awaitText("dialog .steps", "Terminated");
        Pictures.take(window, "story", 900, 700);
        window.open("#/plan");
        window.page().getByLabel("GPUs per user").fill("1");
        window.button("Show what it would do").click();
        window.awaitText("#plan-result tr", "alice");
        Pictures.take(window, "plan", 1000, 1190);
        window.open("#/report").awaitText("#report tr", "alice");
        Pictures.take(window, "report", 1200, 900);
    }

    /** Alice holds GPU 0, which she does not use, and GPU 7. Two processes of Bob run in no environment, and one of them ignores SIGTERM. */
    private void useMachine() throws IOException {
        var shell = start("exec sleep 7200", ALICE, Map.of());
        job = start("exec sleep 7200", ALICE, Map.of("GENV_ENVIRONMENT_ID", "alices"));
        lost = start("exec sleep 7200", BOB, Map.of());
        stubborn = start("trap '' TERM; exec sleep 7200", BOB, Map.of());
        machine.state().env("alices", ALICE, "alice", null, shell.pid());
        var status = new StringBuilder();
        var gpus = new StringBuilder();
        for (var index = 0; index < DEVICES; index++) {
            machine.state().device(index, index % 7 == 0 ? new String[] {"alices"} : new String[0]);
            // Of GPU 6 it is unknown whether it is free.
            gpus.append("%d, %s, %s\n".formatted(index, FakeNvidiaSmi.uuid(index), index == 6 ? "[N/A]" : "0"));
            status.append("%d, 0, 16384, 30, %d, 15.00, NVIDIA RTX A4000\n".formatted(index, index == 7 ? 90 : 0));
        }
        machine.state().write();
        machine.gpus()
                .gpuLines(gpus.toString())
                .status(status.toString())
                .process(7, job.pid(), "4096")
                .process(2, lost.pid(), "10")
                .process(3, stubborn.pid(), "20");
    }

    private Child start(String shell, long uid, Map<String, String> variables) throws IOException {
        var child = Child.running(Programs.asUser(uid, "/bin/sh", "-c", shell), variables);
        children.add(child);
        await().until(() -> child.command().equals("sleep"));
        return child;
    }

    /** Hours of a machine that exists no longer: 12 idle ones of Bob in this week; Alice used more than Bob in the week before. */
    private void addEarlierHours() throws IOException {
        var week = LocalDate.now(ZoneOffset.UTC)
                .with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY))
                .atStartOfDay(ZoneOffset.UTC)
                .toInstant()
                .toEpochMilli();
        var day = Duration.ofDays(1).toMillis();
        try (var database = new Database(new Database.Config(Optional.of(node.addDatabase()), 64 << 20))) {
            assertThat(database.start(connection -> {
                        var sql = new Sql(connection);
                        return addHours(sql, week, "bob", 12, 0)
                                + addHours(sql, week - day, "bob", 40, 20)
                                + addHours(sql, week - 7 * day, "alice", 30, 25);
                    }))
                    .contains(3);
        }
    }

    private static int addHours(Sql sql, long hour, String user, int held, int used) throws SQLException {
        var unit = Duration.ofHours(1).toMillis();
        sql.update("INSERT INTO observed (hour, host, time) VALUES (?, 'former', ?)", hour, unit);
        return sql.update(
                "INSERT INTO usage (hour, host, user, held, present, used, unknown, idle) VALUES (?, 'former', ?, ?, ?, ?, 0, ?)",
                hour,
                user,
                held * unit,
                used * unit,
                used * unit,
                (held - used) * unit);
    }

    private void setUpService() throws IOException {
        var ssh = hostOfSsh("gpu-1", machine) + hostOfSsh("gpu-2", unreachable);
        node.variable("TZ", "UTC")
                .unset("STATE_DIR")
                .unset("NVIDIA_SMI")
                .unset("NODE_NAME")
                .set("REMOTE_HOSTS", "gpu-1,gpu-2")
                .set("REMOTE_SSH_CONFIG", Files.writeString(directory.resolve("ssh_config"), ssh))
                .set("REMOTE_TIMEOUT", "60s")
                .set("REMOTE_USERNAME", RealSshd.ADMIN)
                .set("REMOTE_IDENTITY_FILE", hosts.identity())
                .set("REMOTE_KNOWN_HOSTS", hosts.knownHosts())
                .set("NON_ENV_PROCESSES", "enforce")
                .set("MAX_DEVICES_PER_USER", 1)
                .set("MAX_DEVICES_PER_USER_MODE", "audit")
                .set("GRACE", "0s")
                .set("KILL_AFTER", "10h");
    }

    private static String hostOfSsh(String name, RealSshd machine) {
        var target = machine.target().split(":", 2);
        return "Host %s\n  HostName %s\n  Port %s\n".formatted(name, target[0], target[1]);
    }

    /** The question, where the page shows the answer, a pattern of its text there, and one of the output of the command. */
    private static final String ANSWERS = """
        Which GPU can I take? § .tile § (GPU [1245]\\s+○ Free for [^○◐●]+){4} § \\["HOST",1,2,4,5]\\n\\["OTHER"]
        Who is on GPU 7? § .tile § GPU 7\\s+● Busy.*alice · sleep \\(pid JOB\\) · 4\\.0 GiB.* § \\["alice","sleep"]
        Since when is GPU 0 idle? § .tile § GPU 0\\s+◐ Idle for \\d+ (s|min).* § 20\\d\\d-\\d\\d-\\d\\dT[0-9:.]+Z
        Who holds idle GPUs? § .users tr § .*alice\\s+2 of 1\\s+1\\s.* ago.* § alice
        What did bob lose since yesterday, and why? § .violation.resolved § .*Process LOST is not running in a GPU environment.*Terminated § \
        .*Process LOST is not running in a GPU environment\\nexited
        How many GPU hours are wasted this week? § #report .totals § .*\\s12(\\.\\d+)? hours idle \\(.* § 12(\\.\\d+)?
        Who used most GPU hours last week? § #report tr § .*alice\\s+30\\s+25\\s+25\\s+5\\s.* § alice
        Who is over the limit of GPUs? § .group h2 § .*alice · More GPUs than a user may hold.* § alice
        What would a limit of one GPU do? § #plan-result tr § \
        .*alice\\s+environment alices, GPU 0[^\\n]*\\s–\\s+Detached: max-devices-per-user.* § \
        .*"type":"detach","host":"HOST".*"environment":"alices","device":0.*
        When is a process terminated, and why not yet? § .violation.active § \
        .*Process STUBBORN is not.*Next: SIGKILL in \\d+ h \\(time to exit after SIGTERM\\).* § \
        .*"pid":STUBBORN,"signal":"KILL".*"not_before":"20.*"because":"kill_after"}
        Which processes run outside genv? § .tile § GPU 3.*bob · sleep \\(pid STUBBORN\\).*⚠ outside all environments.* § \\["bob","sleep",STUBBORN]
        Which host does not answer, and why? § .host § OTHER ✕ unreachable.*host_unreachable.*refused.* § OTHER\\n.*refused.*
        """;

    private Map<String, Answer> answers() {
        return ANSWERS.replace("HOST", "gpu-1")
                .replace("OTHER", "gpu-2")
                .replace("JOB", Integer.toString(job.pid()))
                .replace("LOST", Integer.toString(lost.pid()))
                .replace("STUBBORN", Integer.toString(stubborn.pid()))
                .lines()
                .map(line -> line.split(" § ", 4))
                .collect(Collectors.toMap(parts -> parts[0], parts -> new Answer(parts[1], parts[2], parts[3])));
    }

    private void check(Window window, MatchResult row, Answer answer) throws IOException {
        window.open("");
        var steps = row.group(2).split(" → ", -1);
        var clicks = 0;
        for (var step : steps) {
            clicks += follow(window, step);
        }
        assertThat(clicks).as(row.group()).isLessThanOrEqualTo(MOST_CLICKS);
        var places = window.page().locator(answer.selector);
        await(row.group(2))
                .pollInSameThread()
                .untilAsserted(() -> assertThat(
                                String.join("\n", places.allInnerTexts()).strip())
                        .matches(Pattern.compile(answer.text, Pattern.DOTALL)));
        var command = row.group(3).replace("\\|", "|").replace("localhost:8080", "127.0.0.1:" + client().port());
        await(command)
                .untilAsserted(
                        () -> assertThat(Programs.run("/bin/sh", "-c", command).strip())
                                .matches(Pattern.compile(answer.output, Pattern.DOTALL)));
    }

    /** Clicks on what has this name, or writes the value after a colon into the field before it, which is no click. */
    private static int follow(Window window, String step) {
        var input = step.split(": ", 2);
        var page = window.page();
        if (input.length == 1) {
            page.getByRole(AriaRole.LINK, new Page.GetByRoleOptions().setName(step))
                    .or(page.getByRole(AriaRole.BUTTON, new Page.GetByRoleOptions().setName(step)))
                    .first()
                    .click();
            return 1;
        }
        var field = input[0].equals("search") ? page.getByRole(AriaRole.SEARCHBOX) : page.getByLabel(input[0]);
        field.fill(input[1]);
        return 0;
    }
}
