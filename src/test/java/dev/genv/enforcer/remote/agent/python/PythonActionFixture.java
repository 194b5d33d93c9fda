package dev.genv.enforcer.remote.agent.python;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A machine on which one real process of an environment uses a device, and a termination of it. */
abstract class PythonActionFixture {
    @TempDir
    Path folder;

    PythonMachine machine;
    Child child;

    @BeforeEach
    void create() throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new PythonMachine(folder);
        child = Child.inEnvironment("15971");
        machine.nvidiaSmi.process(0, child.pid(), "1542");
        machine.files().device(0).device(1).write();
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    final JsonNode observe() throws Exception {
        var processes = machine.observe().get("processes");
        assertThat(processes).hasSize(1);
        return processes.get(0);
    }

    /** The real child, of which the kernel shows what the test likes. */
    final FakeProc.FakeProcess fakeProcess() throws IOException {
        machine.request.putArray("terminations");
        var proc = machine.useFakeProc(folder.resolve("proc"));
        return proc.process(child.pid()).uid(1003).environ("GENV_ENVIRONMENT_ID=15971");
    }

    final ObjectNode plan() throws Exception {
        return machine.terminate(observe(), 1000);
    }

    final String result() throws Exception {
        return machine.act().at("/results/0/result").asText();
    }
}
