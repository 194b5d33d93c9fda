package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How both hands run nvidia-smi as a child process, and which programs they trust. */
@Timeout(600)
@ParameterizedClass
@EnumSource
class ToolTableTest {
    @Parameter
    Hands hands;

    @TempDir
    Path folder;

    private FakeMachine fake;

    @BeforeEach
    void create() throws IOException {
        fake = new FakeMachine(hands, folder);
    }

    private Reading<ToolOutput> run(String commands) throws Exception {
        fake.tool.fault(commands);
        return run();
    }

    private Reading<ToolOutput> run() throws Exception {
        return fake.observe().gpu().processes();
    }

    private static ToolOutput output(Reading<ToolOutput> reading) {
        assertThat(reading).isInstanceOf(Reading.Value.class);
        return ((Reading.Value<ToolOutput>) reading).value();
    }

    private static String reason(Reading<?> reading) {
        return reading instanceof Reading.Failed<?> failed ? failed.reason() : "";
    }

    private String written(String suffix) throws IOException {
        return Files.readString(fake.tool.path().resolveSibling("nvidia-smi." + suffix))
                .strip();
    }

    @Test
    void hasACleanEnvironmentAndNoInput() throws Exception {
        run("env >$0.env; pwd >>$0.env; cat >>$0.env; ls -l /proc/self/fd >$0.fd");
        assertThat(written("env").lines())
                .filteredOn(line -> !line.startsWith("PWD=") && !line.startsWith("_=") && !line.startsWith("SHLVL="))
                .containsExactlyInAnyOrder(
                        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                        "LC_ALL=C",
                        "GENV_BYPASS=1",
                        "/");
        assertThat(written("fd").lines()).as("a line of ls, and its files").hasSizeLessThanOrEqualTo(1 + 4);
    }

    @Test
    void readsMoreThanAPipeHoldsAndRefusesTooMuch() throws Exception {
        var output = output(run("head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; exit 0"));
        assertThat(output.stdout().length()).isEqualTo(1_000_000);
        assertThat(output.stderr().length()).isEqualTo(1_000_000);
        for (var much : List.of("head -c 20000000 /dev/zero", "exec cat /dev/zero", "exec cat /dev/zero >&2")) {
            assertThat(reason(run(much + "; exit 3"))).as(much).contains("printed more than ");
        }
    }

    /** A tool that closes its output has not exited. It may be killed before it has written a pid. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "echo $$ >$0.pid; exec sleep 600",
                "echo $$ >$0.pid; exec >&- 2>&-; exec sleep 600",
                "trap '' TERM; sleep 600 & echo $! >$0.pid; wait; sleep 600",
            })
    void killsAHangingToolAndItsChildren(String commands) {
        fake.toolLimit = Duration.ofMillis(300);
        var pid = await().ignoreException(NoSuchFileException.class)
                .until(
                        () -> {
                            assertThat(reason(run(commands))).contains("nvidia-smi did not exit within ");
                            return written("pid");
                        },
                        written -> !written.isEmpty());
        await().until(() -> !ProcessHandle.of(Long.parseLong(pid))
                .map(ProcessHandle::isAlive)
                .orElse(false));
    }

    /** Its own end is not the end of its output: a child of its own may hold that open for ever. */
    @Test
    void doesNotWaitForChildrenThatKeepItsOutputOpen() throws Exception {
        try {
            var output = output(run("sleep 600 & echo $! >>$0.pids; echo done; echo err >&2; exit 3"));
            assertThat(output.exitCode()).isEqualTo(3);
            assertThat(output.stdout().text()).isEqualTo("done\n");
            assertThat(output.stderr().text()).isEqualTo("err\n");
        } finally {
            written("pids")
                    .lines()
                    .map(Long::valueOf)
                    .forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
        }
    }

    /** Commands after which others can replace {@code tmp/bin/smi} or a link, and why the program is used neither as a tool nor for protection. */
    @ParameterizedTest
    @CsvSource({
        "true, tmp/bin/smi,",
        "chmod 1777 tmp, tmp/bin/smi,",
        "ln -s $PWD/tmp/bin/smi link, link,",
        "ln -s smi tmp/bin/link, tmp/bin/link,",
        "chmod 775 tmp, tmp/bin/smi, others can write",
        "chmod 757 tmp/bin, tmp/bin/smi, others can write",
        "chmod 1777 tmp/bin, tmp/bin/smi, others can write",
        "chmod 775 tmp/bin/smi, tmp/bin/smi, others can write",
        "chmod 757 tmp/bin/smi, tmp/bin/smi, others can write",
        "chmod 777 tmp/bin/smi && ln -s $PWD/tmp/bin/smi link, link, others can write",
        "chmod 777 tmp/bin && ln -s $PWD/tmp/bin/smi link, link, others can write",
        "mkdir -m 777 open && ln -s $PWD/tmp/bin/smi open/link, open/link, others can write",
        "mkdir -m 777 open && ln -s $PWD/tmp/bin/smi open/link && ln -s $PWD/open/link link, link, others can write",
        "mkdir -m 777 open && ln -s $PWD/tmp/bin open/link && ln -s $PWD/open/link link, link/smi, others can write",
        "chown 65534 tmp/bin/smi, tmp/bin/smi, belongs to user 65534",
        "chown 65534 tmp/bin, tmp/bin/smi, belongs to user 65534",
        "ln -s $PWD/tmp/bin/smi link && chown -h 65534 link, link, belongs to user 65534",
    })
    void programThatOthersCanReplaceIsUntrusted(String commands, String name, @Nullable String why) throws Exception {
        Requirements.root();
        Programs.shell(
                folder,
                "umask 022 && mkdir -p tmp/bin && printf '#!/bin/sh' >tmp/bin/smi && chmod 755 tmp tmp/bin tmp/bin/smi && "
                        + commands);
        var program = folder.resolve(name);
        fake.toolProgram = program.toString();
        fake.programs.add(new ProtectedExecutable(program, "*"));
        var facts = fake.observe();
        var index = fake.settings().programs().indexOf(fake.programs.getFirst());
        var asProtected = facts.programs().get(index);
        if (why == null) {
            assertThat(facts.gpu().processes()).isInstanceOf(Reading.Value.class);
            assertThat(asProtected).isInstanceOf(Reading.Value.class);
        } else {
            assertThat(reason(facts.gpu().processes()))
                    .startsWith(program + " is not used: ")
                    .contains(why);
            assertThat(asProtected).extracting("failure").isEqualTo(Reading.Failure.UNTRUSTED);
            assertThat(reason(asProtected)).contains(why);
        }
    }

    @Test
    void reportsAProgramThatIsNotFound() throws Exception {
        Programs.shell(folder, "ln -s loop loop && touch file");
        fake.toolProgram = "no-such-program";
        assertThat(reason(run())).startsWith("no-such-program is not in any of /");
        for (var name : List.of("absent", "etc", "loop", "file")) {
            fake.toolProgram = folder.resolve(name).toString();
            assertThat(reason(run())).isEqualTo(fake.toolProgram + " is not a program");
        }
    }
}
