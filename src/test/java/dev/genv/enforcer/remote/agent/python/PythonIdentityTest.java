package dev.genv.enforcer.remote.agent.python;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.agent.python.process.PythonProcessFixture;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent signals a process only if it is still the expected one. */
@Timeout(600)
class PythonIdentityTest extends PythonActionFixture {
    @Test
    void reusedPidIsNotSignalled() throws Exception {
        machine.terminate(observe(), child.startTime() - 1);
        assertThat(result()).isEqualTo("GONE");
        var fake = fakeProcess();
        plan();
        fake.startTime(1001);
        assertThat(result()).isEqualTo("GONE");
        fake.startTime(1000).state('Z');
        assertThat(result()).isEqualTo("GONE");
        fake.threads(2);
        assertThat(result()).isEqualTo("UNREADABLE"); // no thread can be read
        for (var file : List.of("stat", "status", "environ", "cmdline", "comm")) {
            Files.delete(fake.file(file));
        }
        assertThat(result()).isEqualTo("GONE");
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void exitedProcessIsGone() throws Exception {
        var process = observe();
        machine.terminate(process, child.startTime());
        child.close();
        assertThat(result()).isEqualTo("GONE");
    }

    @Test
    void changedProcessIsNotSignalled() throws Exception {
        var fake = fakeProcess();
        plan();
        fake.uid(1004);
        var result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("OTHER_USER");
        assertThat(result.get("uid").asLong()).isEqualTo(1004);
        Files.writeString(fake.file("status"), "Uid:\t?\n");
        result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("OTHER_USER");
        assertThat(result.get("uid").isNull()).isTrue();
        fake.uid(1003).environ("GENV_ENVIRONMENT_ID=b");
        result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("CHANGED");
        assertThat(bytes(result.at("/environ/id"))).isEqualTo("b");
        fake.environ("GENV_ENVIRONMENT_ID=15971").withoutEnvironment();
        assertThat(result()).isEqualTo("UNREADABLE");
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void unreadableProcessIsNotSignalled() throws Exception {
        var fake = fakeProcess();
        var action = plan();
        Files.delete(fake.file("environ"));
        assertThat(result()).isEqualTo("UNREADABLE");
        fake.environ("");
        PythonProcessFixture.hang(fake, "environ");
        assertThat(result()).isEqualTo("TIMEOUT");
        assertThat(child.isAlive()).isTrue();
        Files.delete(fake.file("environ"));
        fake.environ("X=1", "GENV_ENVIRONMENT_ID=15971"); // another program
        var result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("CHANGED");
        assertThat(bytes(result.get("stat"))).isEqualTo(Files.readString(fake.file("stat")));
        action.putArray("addresses");
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void acceptsAnyUidButExemptOnes() throws Exception {
        var fake = fakeProcess();
        var action = plan().putNull("uid");
        action.putArray("exempt").add(7).add(2003);
        fake.uid(2003);
        var result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("OTHER_USER");
        assertThat(result.get("uid").asLong()).isEqualTo(2003);
        fake.uid(2004);
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void protectedProgramIsNotSignalled() throws Exception {
        var server = Path.of("/bin/sleep");
        machine.request.withArray("/programs").add(server.toString());
        var fake = fakeProcess();
        plan().putArray("files").add(machine.observe().at("/programs/0/value"));
        assertThat(result()).isEqualTo("PROTECTED"); // it is unknown what it runs
        fake.exe(server);
        assertThat(result()).isEqualTo("PROTECTED");
        assertThat(child.isAlive()).isTrue();
        fake.exe(folder.resolve("nowhere/sleep")); // another file of that name
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }
}
