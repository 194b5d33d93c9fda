package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policyfile.PolicyReader;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The policy in force on the page: for all, for one user, and as a file for a change. */
class PolicyPageIT extends PageSuite {
    private static final String TOKEN = "correct-horse.battery~staple";
    /** Hours that always apply, a limit of the group of this process, and an exception of another user. */
    private static final String POLICY = """
        rules: {env-devices: audit, max-devices-per-user: enforce, non-env-processes: "off"}
        max_devices: {default: 1, groups: {"GROUP": 4}, users: {john: 3}}
        max_memory: {default: 40gi}
        exceptions:
          - {user: bob, max_devices: 8, until: 2099-12-30, reason: "paper: #1"}
        hours:
          - {days: Mon-Sun, from: "00:00", to: "00:00", max_devices: {default: 2}}
        exempt: {users: [svc-infer], cgroups: [/system.slice/slurmstepd.scope]}
        """;

    private Path file;

    private void setUpPolicy() throws IOException {
        file = directory.resolve("policy.yaml");
        write(POLICY);
        node.variable("TZ", "UTC").set("POLICY_FILE", file).set("MAX_DEVICES_FOR_USER", "ada=5");
    }

    private void write(String yaml) throws IOException {
        Files.writeString(file, yaml.replace("GROUP", group()));
    }

    private static String group() throws IOException {
        return Programs.run("/usr/bin/id", "-gn").strip();
    }

    @Test
    void theRulesOfAllAndTheLimitOfAUserAreShownWithTheirReasons() throws IOException {
        setUpPolicy();
        try (var shell = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            startObservedService();
            var window = openWindow(options().setColorScheme(ColorScheme.DARK).setViewportSize(375, 800));
            window.context().addInitScript(PageAccessibilityIT.axe());
            window.open("#/rules");
            checkRules(window);
            PageAccessibilityIT.check(window);

            window.page().setViewportSize(1280, 800);
            PageAccessibilityIT.check(window);
            window.open("#/users/" + CurrentProcess.name());
            window.awaitText("main .facts", "Holds 1 of at most 4 GPUs.");
            window.awaitText(".held li", "GPUs: 4 · group %s (line 2 of the policy file)".formatted(group()));
            window.awaitText(".held li", "GPU memory: 40.0 GiB · default (line 3 of the policy file)");
            PageAccessibilityIT.check(window);

            window.open("#/rules");
            write("max_devices: {default: many}\n");
            window.awaitText(
                    "main [role=status]",
                    "The policy file cannot be used, so its last valid content applies: " + file
                            + ": line 1, column 24: max_devices.default: expected a whole number from 0, or none");
            window.awaitText("#alerts", "Policy file not in use: gpu-1");
            assertThat(row(window, "Limits", "group " + group())).containsText("4");
            write(POLICY.replace("{user: bob,", "{user: %s,".formatted(CurrentProcess.name())));
            assertThat(row(window, "Exceptions", "user " + CurrentProcess.name()))
                    .containsText("GPUs: 8");
            assertThat(window.page().locator("main > div > [role=status]")).isHidden();
            window.go("#/users/" + CurrentProcess.name());
            window.awaitText(".held li", "GPUs: 8 · exception of user %s, until in".formatted(CurrentProcess.name()));
        }
    }

    private static void checkRules(Window window) throws IOException {
        assertThat(window.heading()).hasText("Rules");
        assertThat(row(window, "Rules", "env-devices")).containsText("reported only" + "line 1 of the policy file");
        assertThat(row(window, "Rules", "max-devices-per-user")).containsText("enforced");
        assertThat(row(window, "Rules", "non-env-processes")).containsText("not checked");
        assertThat(row(window, "Limits", "GPUs of all others"))
                .containsText("2" + "hours in line 7 of the policy file");
        assertThat(row(window, "Limits", "GPUs of group " + group())).containsText("4" + "line 2 of the policy file");
        assertThat(row(window, "Limits", "GPUs of user ada")).containsText("5" + "GENV_ENFORCER_MAX_DEVICES_FOR_USER");
        assertThat(row(window, "Limits", "GPU memory of all others")).containsText("40.0 GiB");
        assertThat(row(window, "Exceptions", "user bob")).containsText("GPUs: 8");
        assertThat(row(window, "Exceptions", "user bob")).containsText("paper: #1");
        assertThat(row(window, "Exceptions", "user bob").locator("time"))
                .hasAttribute("datetime", "2099-12-31T00:00:00Z");
        assertThat(row(window, "Hours", "Mon, Tue")).containsText("00:00 to 00:00" + "GPUs of all others: 2");
        assertThat(row(window, "Nothing is done to", "of the user svc-infer")).isVisible();
        assertThat(row(window, "Nothing is done to", "in the cgroup /system.slice/slurmstepd.scope"))
                .isVisible();
        assertThat(row(window, "Nothing is done to", "of the program /usr/bin/nvidia-cuda-mps-server of any user"))
                .isVisible();
        var facts = window.page().locator("main dl");
        assertThat(facts).containsText("Version");
        assertThat(facts).containsText("Grace period" + "30 s until the service acts");
        assertThat(facts).containsText("After a change" + "15 min without the actions");
        assertThat(facts.locator("time")).hasAttribute("datetime", "2099-12-31T00:00:00Z");
        assertThat(facts).containsText("exceptions.user bob.max_devices: 8 -> unset");
    }

    private static Locator row(Window window, String table, String text) {
        return window.page()
                .locator("table:has(caption:text-is('%s')) tbody tr".formatted(table))
                .filter(new Locator.FilterOptions().setHasText(text));
    }

    /** A user has the same token as an administrator, and can change nothing with it. */
    @Test
    void aUserReadsTheRulesWithTheTokenAndNoNumberStandsForThemBefore() throws IOException {
        setUpPolicy();
        node.set("API_TOKEN_FILE", Files.writeString(directory.resolve("token"), TOKEN));
        startService();
        var window = openWindow().open("#/rules");
        window.awaitText("main", "The policy: loading.");
        window.page().keyboard().press("Escape");
        window.awaitText("main", "The policy: not known.");
        assertThat(window.page().locator("main").innerText()).doesNotContainPattern("[0-9]");

        window.button("Enter the token").click();
        window.page()
                .getByLabel("Token", new Page.GetByLabelOptions().setExact(true))
                .fill(TOKEN);
        window.page().keyboard().press("Enter");

        checkRules(window);
        assertThat(window.page().locator("main :is(button, input, form)")).hasCount(0);
    }

    /** What the form prints is the running policy, but for what was changed in it; the service and its check accept it. */
    @Test
    void whatIfPrintsAFileThatIsThePolicy() throws Exception {
        setUpPolicy();
        try (var shell = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            startObservedService();
            var window = openWindow().open("#/plan");
            assertThat(window.page().getByLabel("GPUs per user")).hasValue("1");
            assertThat(window.page().getByLabel("GPUs of groups")).hasValue(group() + "=4");
            assertThat(window.page().getByLabel("GPU memory per user")).hasValue("40gi");
            window.button("Show what it would do").click();
            window.awaitText("#plan-result", "This is the running policy.");
            for (var time : new String[] {"2026-11-30T12:00:00Z", "2100-01-01T12:00:00Z"}) {
                var at = Instant.parse(time);
                var running = PolicyReader.read(
                        POLICY.replace("GROUP", group()).getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC);
                assertThat(printed(window).at(at, PolicyValues.NONE).texts())
                        .containsAll(running.at(at, PolicyValues.NONE).texts());
            }

            window.page().getByLabel("GPUs of groups").fill(group() + "=0");
            window.page().getByLabel("GPUs of single users").fill("");
            window.button("Show what it would do").click();

            window.awaitText("#plan-result tr:has-text('environment a, GPU 0')", "Detached: max-devices-per-user");
            window.awaitText(
                    "#plan-result",
                    "max_devices.users.ada (GENV_ENFORCER_MAX_DEVICES_FOR_USER), max_devices.users.john (line 2 of the policy file)");
            var saved = Files.writeString(directory.resolve("saved.yaml"), text(window));
            var check = node.setArguments("policy", "check", saved.toString()).run();
            assertThat(check.exitCode()).as(check.toString()).isZero();
            var change = "max_devices.groups.%s: unset -> 0".formatted(group());
            assertThat(check.out()).anyMatch(line -> line.contains(change));
        }
    }

    private static PolicyDocument printed(Window window) throws Exception {
        return PolicyReader.read(text(window).getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC);
    }

    private static String text(Window window) {
        return window.page().locator("#file").inputValue();
    }
}
