package dev.genv.enforcer.e2e.page;

import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Takes the pictures of the documents, of a node that three users share. */
@Tag("long")
class PageImagesIT extends PageSuite {
    /** With {@code -Dpage.images=src/site/resources/images} the pictures of the documents are replaced. */
    private static final Path IMAGES = Path.of(System.getProperty("page.images", "target/page-images"));

    private static final int LARGEST = 150 << 10;
    private static final int ALICE = 54_011;
    private static final int BOB = 54_012;
    private static final int CAROL = 54_013;

    private final List<Child> children = new ArrayList<>();

    @AfterEach
    void endProcesses() {
        children.forEach(Child::close);
        children.clear();
    }

    @Test
    void picturesAreSmall() throws IOException {
        Requirements.root();
        prepareNode();
        startService();
        client().awaitObservation();

        var hosts = openWindow(options().setViewportSize(1200, 800)).open("#/hosts");
        hosts.awaitText(".tile", "no listed process explains it");
        hosts.awaitText(".tile", "Utilization 97 %");
        hosts.awaitText(".tile", "GPU not attached");
        take(hosts, "hosts.png");

        var story = openWindow(options().setViewportSize(900, 700)).open("#/violations");
        story.page()
                .locator("a.message")
                .filter(new Locator.FilterOptions().setHasText("over its capacity"))
                .click();
        story.awaitText("dialog .steps", "SIGTERM");
        take(story, "story.png");

        var plan = openWindow(options().setViewportSize(1000, 760).setColorScheme(ColorScheme.DARK))
                .open("#/plan");
        plan.awaitText("main", "env-devices");
        plan.page().getByLabel("GPUs per user").fill("1");
        plan.button("Show what it would do").click();
        plan.awaitText("#plan-result", "detach environment");
        take(plan, "plan.png");
    }

    private static void take(Window window, String name) throws IOException {
        var file = Files.createDirectories(IMAGES).resolve(name);
        window.page().screenshot(new Page.ScreenshotOptions().setPath(file));
        assertThat(Files.size(file)).as(name).isLessThanOrEqualTo(LARGEST);
    }

    private void prepareNode() throws IOException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        node.set("NON_ENV_PROCESSES", "enforce").set("GRACE", "10m").set("GENV_METRICS", "hosts");
        node.state
                .env("4001", ALICE, "alice", null, shell(ALICE))
                .env("4002", BOB, "bob", "8gi", shell(BOB))
                .env("4003", CAROL, "carol", null, shell(CAROL))
                .device(0, "4001")
                .device(1, "4001")
                .device(2, "4002")
                .device(3, "4003")
                .device(4)
                .device(5)
                .write();
        var alice = job(ALICE, Map.of("GENV_ENVIRONMENT_ID", "4001"));
        node.gpus
                .gpus(6)
                .process(0, alice, "9000")
                .process(1, alice, "6000")
                .process(1, job(CAROL, Map.of("GENV_ENVIRONMENT_ID", "4003")), "3000")
                .process(2, job(BOB, Map.of("GENV_ENVIRONMENT_ID", "4002")), "12000")
                .process(5, job(CAROL, Map.of()), "5000");
        var used = List.of(9000, 9000, 12_000, 0, 4096, 5000);
        var utilization = List.of(97, 62, 88, 0, 41, 35);
        var gpus = new StringBuilder();
        var status = new StringBuilder();
        for (var i = 0; i < used.size(); i++) {
            gpus.append("%d, %s, %d\n".formatted(i, FakeNvidiaSmi.uuid(i), used.get(i)));
            status.append("%d, %d, 16384, %d, %d\n"
                    .formatted(i, used.get(i), 40 + utilization.get(i) / 4, utilization.get(i)));
        }
        node.gpus.gpuLines(gpus.toString());
        Files.writeString(node.gpus.path().resolveSibling("nvidia-smi.status"), status);
    }

    private int shell(int uid) throws IOException {
        return job(uid, Map.of());
    }

    private int job(int uid, Map<String, String> variables) throws IOException {
        var child = Child.ofUser(uid, variables);
        children.add(child);
        return child.pid();
    }
}
