package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Shell;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whether others could replace {@code tmp/bin/smi}, after commands of a shell in the folder. */
class TrustedProgramTest {
    @TempDir
    private Path folder;

    @BeforeEach
    void install() throws IOException, InterruptedException {
        run("mkdir -p tmp/bin && printf '#!/bin/sh' >tmp/bin/smi && chmod 755 tmp tmp/bin tmp/bin/smi");
    }

    private void run(String commands) throws IOException, InterruptedException {
        Shell.run(folder, "umask 022 && " + commands);
    }

    @ParameterizedTest
    @CsvSource({
        "true, tmp/bin/smi",
        "chmod 1777 tmp, tmp/bin/smi",
        "ln -s $PWD/tmp/bin/smi link, link",
    })
    void acceptsProgramThatOthersCannotReplace(String commands, String program) throws Exception {
        run(commands);
        assertThat(ChildProcess.find(folder.resolve(program).toString())).isEqualTo(folder.resolve(program));
    }

    @ParameterizedTest
    @CsvSource({
        "chmod 775 tmp, tmp/bin/smi",
        "chmod 777 tmp, tmp/bin/smi",
        "chmod 775 tmp/bin, tmp/bin/smi",
        "chmod 757 tmp/bin, tmp/bin/smi",
        "chmod 1777 tmp/bin, tmp/bin/smi",
        "chmod 775 tmp/bin/smi, tmp/bin/smi",
        "chmod 757 tmp/bin/smi, tmp/bin/smi",
        "chmod 777 tmp/bin/smi && ln -s $PWD/tmp/bin/smi link, link",
        "chmod 777 tmp/bin && ln -s $PWD/tmp/bin/smi link, link",
        "mkdir -m 777 open && ln -s $PWD/tmp/bin/smi open/link, open/link",
        "mkdir -m 777 open && ln -s $PWD/tmp/bin/smi open/link && ln -s $PWD/open/link link, link",
        "mkdir -m 777 open && ln -s $PWD/tmp/bin open/link && ln -s $PWD/open/link link, link/smi",
    })
    void refusesProgramThatOthersCanReplace(String commands, String program) throws Exception {
        run(commands);
        assertRefused(program, "others can write");
    }

    @ParameterizedTest
    @ValueSource(strings = {"tmp/bin/smi", "tmp/bin"})
    void refusesProgramOfAnotherUser(String part) throws Exception {
        Requirements.root();
        run("chown 65534 " + part);
        assertRefused("tmp/bin/smi", "belongs to user 65534");
    }

    @Test
    void reportsTheProgramThatWasNotFound() throws Exception {
        assertThatThrownBy(() -> ChildProcess.find("no-such-program"))
                .isInstanceOf(ToolException.class)
                .hasMessageStartingWith("no-such-program is not in any of /");
        run("ln -s loop loop && touch file");
        for (var program : new String[] {"absent", "tmp", "loop", "file"}) {
            assertRefused(program, "is not a program");
        }
    }

    private void assertRefused(String program, String why) {
        assertThatThrownBy(() -> ChildProcess.find(folder.resolve(program).toString()))
                .isInstanceOf(ToolException.class)
                .hasMessageContainingAll(program, why);
    }
}
