package dev.genv.enforcer.remote.agent.python.state;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A state directory with one environment, whose process runs. */
abstract class PythonStateFixture {
    @TempDir
    Path folder;

    PythonMachine machine;
    Path envs;
    Path devices;
    Path lock;
    Child child;

    @BeforeEach
    void writeState() throws IOException {
        machine = new PythonMachine(folder);
        envs = machine.state.resolve("envs.json");
        devices = machine.state.resolve("devices.json");
        lock = machine.state.resolve("genv.lock");
        child = Child.inEnvironment("15971");
        machine.writeOneEnvironment(child);
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    final JsonNode assertComplete() throws Exception {
        var state = machine.observe().get("state");
        assertThat(bytes(state.at("/envs/present/content")))
                .isEqualTo(Files.readString(envs, StandardCharsets.ISO_8859_1));
        assertThat(bytes(state.at("/devices/present/content"))).isEqualTo(Files.readString(devices));
        return state;
    }
}
