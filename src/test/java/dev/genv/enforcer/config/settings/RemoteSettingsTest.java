package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.KeyPair;
import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.remote.HostAddress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RemoteSettingsTest {
    private static final String PREFIX = "GENV_ENFORCER_REMOTE_";
    private final Map<String, String> variables = new HashMap<>();
    private final Path folder;

    RemoteSettingsTest(@TempDir Path folder) {
        this.folder = folder;
    }

    @BeforeEach
    void setUpHosts() throws IOException {
        set("HOSTS", "gpu-1,raz@gpu-2:2222, [::1]:22");
        set("KNOWN_HOSTS", file("known_hosts", ""));
    }

    @Test
    void isNotRemoteWithoutHosts() throws InvalidSettingsException {
        variables.clear();
        assertThat(read().isRemote()).isFalse();
    }

    @Test
    void hasTheDocumentedDefaults() throws InvalidSettingsException {
        var remote = remote();
        assertThat(remote.hosts().orElseThrow())
                .containsExactly(
                        HostAddress.parse("gpu-1"), HostAddress.parse("raz@gpu-2:2222"), HostAddress.parse("[::1]:22"));
        assertThat(remote.hostfile()).isEmpty();
        assertThat(remote.username()).isEmpty();
        assertThat(remote.identityFile()).isEmpty();
        assertThat(remote.passphraseFile()).isEmpty();
        assertThat(remote.sshConfig()).isEmpty();
        assertThat(remote.timeout()).isEqualTo(Duration.ofSeconds(10));
        assertThat(remote.sudo()).isTrue();
        assertThat(remote.stateDir()).hasToString("/var/tmp/genv");
        assertThat(remote.exitOnError()).isFalse();
        assertThat(remote.quiet()).isFalse();
        assertThat(read().safetyLimits().killAfter()).isEqualTo(Duration.ofSeconds(30));
    }

    @Test
    void readsEverySetting() throws Exception {
        set("HOSTFILE", file("hosts", "gpu-7 # the new one\n"));
        set("USERNAME", "raz");
        set("IDENTITY_FILE", file("id", newKey()));
        set("PASSPHRASE_FILE", file("passphrase", "secret"));
        set("SSH_CONFIG", file("config", "Host *\n"));
        set("TIMEOUT", "3s");
        set("SUDO", "false");
        set("STATE_DIR", "/srv/genv");
        set("EXIT_ON_ERROR", "true");
        set("QUIET", "true");
        var remote = remote();
        assertThat(remote.hostfile()).contains(folder.resolve("hosts"));
        assertThat(remote.username()).contains("raz");
        assertThat(remote.identityFile()).contains(folder.resolve("id"));
        assertThat(remote.passphraseFile()).contains(folder.resolve("passphrase"));
        assertThat(remote.sshConfig()).contains(folder.resolve("config"));
        assertThat(remote.knownHosts()).contains(folder.resolve("known_hosts"));
        assertThat(remote.timeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(remote.sudo()).isFalse();
        assertThat(remote.stateDir()).hasToString("/srv/genv");
        assertThat(remote.exitOnError()).isTrue();
        assertThat(remote.quiet()).isTrue();
    }

    @Test
    void acceptsAHostFileWithoutAHostList() throws Exception {
        variables.remove(PREFIX + "HOSTS");
        set("HOSTFILE", file("hosts", ""));
        assertThat(remote().hosts()).isEmpty();
    }

    /** A machine with an unknown key is refused, so without keys every machine would be. */
    @Test
    void requiresAReadableKnownHostsFile() {
        variables.remove(PREFIX + "KNOWN_HOSTS");
        assertThat(errors()).singleElement().asString().startsWith(PREFIX + "KNOWN_HOSTS=: expected a file");
        set("KNOWN_HOSTS", folder.resolve("none").toString());
        assertThat(errors())
                .containsExactly(
                        PREFIX + "KNOWN_HOSTS=" + folder.resolve("none") + ": expected a file that can be read");
    }

    /** Otherwise the service would enforce on its own node instead of the machines. */
    @ParameterizedTest
    @CsvSource({"TIMEOUT,3s", "SUDO,false", "QUIET,true", "USERNAME,raz", "STATE_DIR,/x"})
    void refusesRemoteSettingsWithoutHosts(String name, String value) {
        variables.clear();
        set(name, value);
        assertThat(errors())
                .singleElement()
                .asString()
                .startsWith(PREFIX + name + "=" + value + ": has no effect without machines");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "HOSTS|gpu-1,@",
                "HOSTS|gpu-1:99999",
                "HOSTFILE|relative",
                "HOSTFILE|/does/not/exist",
                "USERNAME|-oProxyCommand",
                "USERNAME|a b",
                "IDENTITY_FILE|/does/not/exist",
                "IDENTITY_FILE|/",
                "SSH_CONFIG|relative",
                "TIMEOUT|0",
                "TIMEOUT|soon",
                "SUDO|maybe",
                "STATE_DIR|genv",
                "EXIT_ON_ERROR|1",
                "QUIET|yes",
            })
    void refusesInvalidValues(String name, String value) {
        set(name, value);
        assertThat(errors()).singleElement().asString().startsWith(PREFIX + name + "=" + value + ": ");
    }

    @Test
    void namesTheInvalidLineOfAHostFile() throws IOException {
        set("HOSTFILE", file("hosts", "gpu-1\n# fine\nbad host\n"));
        assertThat(errors()).singleElement().asString().contains("line 3");
    }

    private static String newKey() throws JSchException {
        var bytes = new ByteArrayOutputStream();
        KeyPair.genKeyPair(new JSch(), KeyPair.ECDSA, 256).writePrivateKey(bytes);
        return bytes.toString(StandardCharsets.US_ASCII);
    }

    /** The service reads the files at its start, because a later error makes machines unreachable. */
    @ParameterizedTest
    @CsvSource({"IDENTITY_FILE,no key", "KNOWN_HOSTS,gpu-1 ssh-ed25519 AAAA!"})
    void refusesInvalidFiles(String name, String content) throws IOException {
        set(name, file("spoilt", content));
        assertThat(errors())
                .singleElement()
                .asString()
                .startsWith(PREFIX + name + "=")
                .contains(folder.resolve("spoilt").toString());
    }

    private void set(String name, String value) {
        variables.put(PREFIX + name, value);
    }

    private String file(String name, String content) throws IOException {
        return Files.writeString(folder.resolve(name), content).toString();
    }

    private RemoteSettings remote() throws InvalidSettingsException {
        var settings = read();
        assertThat(settings.isRemote()).isTrue();
        return settings.remote();
    }

    private Settings read() throws InvalidSettingsException {
        return SettingsReader.read(new Variables(variables));
    }

    private List<String> errors() {
        return catchThrowableOfType(InvalidSettingsException.class, this::read).lines();
    }
}
