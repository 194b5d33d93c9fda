package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The agent observes real processes; only the GPUs are fake. */
class PythonObservationTest extends PythonFixture {

    @Test
    void identifiesTheMachineAndItsBoot() throws Exception {
        var boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        assertThat(machine.facts().at("/machine/bootId").asText()).isEqualTo(boot);
        assertThat(machineId()).isEqualTo("0123456789abcdef0123456789abcdef");
        Files.delete(machine.etc.resolve("machine-id"));
        assertThat(machineId()).isEmpty();
        var dbus = Files.createDirectories(folder.resolve("var/lib/dbus"));
        Files.writeString(dbus.resolve("machine-id"), "f".repeat(32));
        assertThat(machineId()).isEqualTo("f".repeat(32));
        Files.writeString(machine.etc.resolve("machine-id"), "\n");
        assertThat(machineId()).isEqualTo("f".repeat(32));
    }

    /** What the tool lists is compared with the time before it is run. */
    @Test
    void readsTheTimeBeforeTheListingAndBeforeTheState() throws Exception {
        var uptime = useFakeProc().root().resolve("uptime");
        machine.nvidiaSmi.fault("echo 3700.00 0.00 >" + uptime);
        var facts = machine.facts();
        assertThat(facts.at("/machine/beforeListing").asLong()).isEqualTo(360_000);
        assertThat(facts.at("/machine/beforeState").asLong()).isEqualTo(370_000);
    }

    private String machineId() throws Exception {
        return machine.facts().at("/machine/machineId").asText();
    }

    @Test
    void sendsAccountsOnlyAfterAChange() throws Exception {
        Files.writeString(machine.etc.resolve("passwd"), "root:x:0:0::/root:/bin/sh\n");
        var passwd = machine.facts().at("/accounts/passwd/value");
        assertThat(bytes(passwd.get("content"))).isEqualTo("root:x:0:0::/root:/bin/sh\n");
        machine.omitted().put("passwd", passwd.get("version").asText());
        assertThat(machine.facts().at("/accounts/passwd/value/content").isNull())
                .isTrue();
        Files.writeString(machine.etc.resolve("passwd"), "raz:x:1000:0::/:/bin/sh\n");
        assertThat(bytes(machine.facts().at("/accounts/passwd/value/content"))).startsWith("raz");
        Files.delete(machine.etc.resolve("passwd"));
        assertThat(machine.facts().at("/accounts/passwd/failure").asText()).isEqualTo("ABSENT");
        Files.write(machine.etc.resolve("passwd"), new byte[3 << 20]);
        assertThat(machine.facts().at("/accounts/passwd/failure").asText()).isEqualTo("OTHER");
        assertThat(machine.facts().at("/accounts/subuid/failure").asText()).isEqualTo("ABSENT");
        Files.writeString(machine.etc.resolve("subuid"), "raz:100000:65536\n");
        assertThat(bytes(machine.facts().at("/accounts/subuid/value/content"))).startsWith("raz:");
    }

    @Test
    void asksTheNameServiceForNamesAndUids() throws Exception {
        assertThat(machine.facts().at("/accounts/named/failure").asText()).isEqualTo("SKIPPED");
        machine.request
                .putArray("accounts")
                .add("root")
                .add("no-such-user")
                .add("0")
                .add("4294967290")
                .add("9999999999");
        assertThat(bytes(machine.facts().at("/accounts/named/value"))).isEqualTo("root:x:0:\n".repeat(2));
    }

    /** What happens in the name service, and the failure; the rest is observed. */
    @ParameterizedTest
    @CsvSource({"time.sleep(600), TIMEOUT", "'os.kill(os.getpid(), 9)', OTHER", "1 / 0, OTHER"})
    void observesWithoutAnAnswerOfTheNameService(String event, String failure) throws Exception {
        machine.request.putArray("accounts").add("root");
        if (failure.equals("TIMEOUT")) {
            machine.request.put("budget", 60);
        }
        var change = "import pwd\npwd.getpwnam = lambda name: %s\nos.chdir(".formatted(event);
        var input = changed(machine.input("observe"), "\nos.chdir(", "\n" + change);
        var facts = machine.facts(input);
        assertThat(facts.at("/accounts/named/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/accounts/passwd/value/content").isTextual()).isTrue();
    }
}
