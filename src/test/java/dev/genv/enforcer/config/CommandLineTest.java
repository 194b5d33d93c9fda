package dev.genv.enforcer.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.config.CommandLine.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Arguments as Python's argparse reads them with the definitions of genv 1.4.3, and the variables that mean the same. */
class CommandLineTest {
    @TempDir
    Path home;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        enforce                                          | {}
        enforce --interval 5                             | {INTERVAL=5}
        enforce --interval=5 --interval 6                | {INTERVAL=6}
        enforce --interval -1                            | {INTERVAL=-1}
        enforce --interval 0                             | {DATA_DIR=, INTERVAL=0}
        enforce --non-env-processes                      | {NON_ENV_PROCESSES=enforce}
        enforce --no-non-env-processes                   | {NON_ENV_PROCESSES=off}
        enforce --env-devices --env-memory               | {ENV_DEVICES=enforce, ENV_MEMORY=enforce}
        enforce --no-env-devices --no-env-memory         | {ENV_DEVICES=off, ENV_MEMORY=off}
        enforce --max-devices-per-user 2                 | {MAX_DEVICES_PER_USER=2}
        enforce --max-devices-for-user a=1 b=2           | {MAX_DEVICES_FOR_USER=a=1,b=2}
        enforce --max-devices-for-user a=1 --inter 5     | {INTERVAL=5, MAX_DEVICES_FOR_USER=a=1}
        remote -H a,raz@b enforce                        | {REMOTE_HOSTS=a,raz@b}
        remote -Ha -l raz -t 5 -eq enforce               | {REMOTE_EXIT_ON_ERROR=true, REMOTE_HOSTS=a, REMOTE_QUIET=true, REMOTE_TIMEOUT=5, REMOTE_USERNAME=raz}
        remote -host a --username=raz --timeout 5 enforce | {REMOTE_HOSTS=a, REMOTE_TIMEOUT=5, REMOTE_USERNAME=raz}
        remote --host a --exit-on-error --quiet enforce  | {REMOTE_EXIT_ON_ERROR=true, REMOTE_HOSTS=a, REMOTE_QUIET=true}
        remote -hostfile /etc/gpus -lraz enforce         | {REMOTE_HOSTFILE=/etc/gpus, REMOTE_USERNAME=raz}
        remote --hostfile=/etc/gpus enforce --interval 2 | {INTERVAL=2, REMOTE_HOSTFILE=/etc/gpus}
        enforce --interval 10 --hostnames a,b            | {INTERVAL=10, REMOTE_HOSTS=a,b}
        """)
    void argumentsMeanTheSameAsVariables(String arguments, String expected) throws UsageException {
        var settings = new TreeMap<>(parse(arguments));
        settings.remove("REMOTE_KNOWN_HOSTS"); // always that of the home
        assertThat(settings).hasToString(expected);
    }

    @Test
    void relativeHostFileIsThatOfTheWorkingDirectory() throws UsageException {
        assertThat(parse("remote --hostfile gpus enforce"))
                .containsEntry(
                        "REMOTE_HOSTFILE", Path.of("gpus").toAbsolutePath().toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --interval 5                          | the following arguments are required: enforce
        monitor                               | argument SUBCOMMAND: invalid choice: 'monitor' (choose from 'enforce', 'remote')
        enforce --intervall 5                 | unrecognized arguments: --intervall
        enforce -x                            | unrecognized arguments: -x
        enforce -=x                           | unrecognized arguments: -=x
        enforce -=                            | unrecognized arguments: -=
        enforce --interval                    | argument --interval: expected one argument
        enforce --interval --env-memory       | argument --interval: expected one argument
        enforce --interval 5s                 | argument --interval: invalid int value: '5s'
        enforce --max-devices 2               | ambiguous option: --max-devices could match --max-devices-per-user, --max-devices-for-user
        enforce --max-devices-for-user        | argument --max-devices-for-user: expected at least one argument
        enforce --max-devices-for-user a=1 b  | argument --max-devices-for-user: not a valid spec: b
        enforce --max-devices-for-user a=b=1  | argument --max-devices-for-user: not a valid spec: a=b=1
        enforce --env-memory --no-env-memory  | argument --no-env-memory: not allowed with argument --env-memory
        enforce --env-memory=1                | argument --env-memory: ignored explicit argument '1'
        remote enforce                        | one of the arguments -H/-host/--host -hostfile/--hostfile is required
        """)
    void wrongArgumentEndsWithTheUsage(String arguments, String error) {
        var failure = failure(arguments);
        assertThat(failure.exitCode()).isEqualTo(2);
        assertThat(failure).message().startsWith("usage: genv-enforcer ").endsWith("\ngenv-enforcer: error: " + error);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-h", "--help", "enforce -h", "remote -H a enforce --help"})
    void helpNamesEveryFlag(String arguments) {
        var failure = failure(arguments);
        assertThat(failure.exitCode()).isZero();
        assertThat(failure.getMessage())
                .contains("[--interval INTERVAL]", "[-H HOSTNAMES]", "[--max-devices-for-user username=maximum ...]")
                .containsPattern("--no-env-memory +GENV_ENFORCER_ENV_MEMORY=off\n")
                .containsPattern("-l, --username USERNAME +GENV_ENFORCER_REMOTE_USERNAME\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--version", "enforce --version", "remote -H a enforce --vers"})
    void printsTheVersion(String arguments) {
        var failure = failure(arguments);
        assertThat(failure.exitCode()).isZero();
        assertThat(failure.getMessage()).matches("genv-enforcer \\S.*");
    }

    /** Every two arguments of these characters give settings, or end with a message. */
    @Test
    void noArgumentEndsInAStackTrace() {
        var characters = List.of("", "-", "=", "H", "q", "x", "1", " ");
        var arguments = characters.stream()
                .flatMap(a ->
                        characters.stream().flatMap(b -> characters.stream().map(c -> a + b + c)))
                .distinct()
                .toList();
        for (var one : arguments) {
            for (var other : arguments) {
                try {
                    CommandLine.parse(List.of("enforce", one, other), Map.of(), home);
                } catch (UsageException e) {
                    assertThat(e.exitCode()).isEqualTo(2);
                }
            }
        }
    }

    /**
     * As with genv, which runs ssh: the files of the user apply, and a key only if nothing names others. The file of host keys is
     * required, so the error names it if it is missing.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        known_hosts id_ed25519 id_ecdsa |              | known_hosts | id_ecdsa
        known_hosts config id_rsa       | Host *       | known_hosts | id_rsa
        known_hosts config id_rsa       | IdentityFile | known_hosts |
        id_rsa                          |              | known_hosts | id_rsa
        """)
    void filesOfOpenSshApplyToMachines(
            String files, @Nullable String config, @Nullable String knownHosts, @Nullable String identity)
            throws Exception {
        var folder = Files.createDirectory(home.resolve(".ssh"));
        for (var file : files.split(" ", -1)) {
            Files.writeString(folder.resolve(file), config == null ? "" : config);
        }
        var settings = parse("remote -H a enforce");
        assertThat(settings.get("REMOTE_KNOWN_HOSTS")).isEqualTo(knownHosts == null ? null : folder + "/" + knownHosts);
        assertThat(settings.get("REMOTE_IDENTITY_FILE")).isEqualTo(identity == null ? null : folder + "/" + identity);
        assertThat(settings.containsKey("REMOTE_SSH_CONFIG")).isEqualTo(files.contains("config"));
        assertThat(CommandLine.parse(
                        List.of("enforce", "-H", "a"),
                        Map.of("SSH_AUTH_SOCK", home.toString(), "GENV_ENFORCER_REMOTE_KNOWN_HOSTS", "/y"),
                        home))
                .doesNotContainKeys("REMOTE_IDENTITY_FILE", "REMOTE_KNOWN_HOSTS");
        assertThat(parse("enforce")).isEmpty();
    }

    private Map<String, String> parse(String arguments) throws UsageException {
        return CommandLine.parse(List.of(arguments.split(" ", -1)), Map.of(), home);
    }

    private UsageException failure(String arguments) {
        return catchThrowableOfType(UsageException.class, () -> parse(arguments));
    }
}
