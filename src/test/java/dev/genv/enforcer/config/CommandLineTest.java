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

/** The arguments of genv 1.4.3, and the variables that mean the same. */
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
        enforce --env-devices --env-devices              | {ENV_DEVICES=enforce}
        remote -H a -H b enforce                         | {REMOTE_HOSTS=b}
        enforce --env-devices --env-memory               | {ENV_DEVICES=enforce, ENV_MEMORY=enforce}
        enforce --no-env-devices --no-env-memory         | {ENV_DEVICES=off, ENV_MEMORY=off}
        enforce --max-devices-per-user 2                 | {MAX_DEVICES_PER_USER=2}
        enforce --max-devices-for-user a=1 b=2           | {MAX_DEVICES_FOR_USER=a=1,b=2}
        enforce --max-devices-for-user a=1 enforce       | {MAX_DEVICES_FOR_USER=a=1}
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
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
        --interval 5                          | Missing required parameter: '[remote] enforce'
        monitor                               | Unknown command 'monitor': expected [remote] enforce
        enforce monitor                       | Unknown command 'enforce monitor': expected [remote] enforce
        remote -H a                           | Unknown command 'remote': expected [remote] enforce
        enforce --intervall 5                 | Unknown option: '--intervall'
        enforce -x                            | Unknown option: '-x'
        enforce -qx                           | Unknown option: '-x' (while processing option: '-qx')
        enforce -=x                           | Unknown option: '-=x'
        enforce -=                            | Unknown option: '-='
        enforce --=x                          | Unknown option: '--=x'
        enforce -                             | Unknown option: '-'
        remote -H --quie enforce              | Expected parameter for option '--hostnames' but found '--quie'
        remote --hostfile --foo enforce       | Expected parameter for option '--hostfile' but found '--foo'
        enforce @file                         | Unknown command 'enforce @file': expected [remote] enforce
        enforce -- --interval                 | Unknown command 'enforce --interval': expected [remote] enforce
        enforce --interval                    | Missing required parameter for option '--interval' (INTERVAL)
        enforce --interval --env-memory       | Expected parameter for option '--interval' but found '--env-memory'
        enforce --interval 5s                 | Invalid value for option '--interval': '5s' is not an int
        enforce --interval 99999999999        | Invalid value for option '--interval': '99999999999' is not an int
        enforce --max-devices 2               | '--max-devices' is not unique: it matches '--max-devices-per-user', '--max-devices-for-user'
        enforce --max-devices-for-user        | Missing required parameter for option '--max-devices-for-user' at index 0 (username=maximum)
        enforce --max-devices-for-user a=1 b  | Unknown command 'enforce b': expected [remote] enforce
        enforce --max-devices-for-user a=b=1  | Invalid value for option '--max-devices-for-user' at index 0 (username=maximum): 'a=b=1' is not username=maximum
        enforce --env-memory --no-env-memory  | --env-memory and --no-env-memory exclude each other
        remote -H a --hostfile b enforce      | --hostnames and --hostfile exclude each other
        enforce --env-memory=1                | option '--env-memory' should be specified without '1' parameter
        enforce --env-memory=false            | option '--env-memory' should be specified without 'false' parameter
        enforce -q=false                      | option '--quiet' should be specified without 'false' parameter
        remote enforce                        | Missing required option: --host or --hostfile
        """)
    void wrongArgumentIsNamed(String arguments, String error) {
        var failure = failure(arguments);
        assertThat(failure.exitCode()).isEqualTo(2);
        assertThat(failure)
                .hasMessage("genv-enforcer: error: " + error + "\nTry 'genv-enforcer --help' for the options.");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-h", "--help", "enforce -h", "remote -H a enforce --help"})
    void helpNamesEveryFlag(String arguments) {
        var failure = failure(arguments);
        assertThat(failure.exitCode()).isZero();
        assertThat(failure.getMessage())
                .contains("[--interval=INTERVAL]", "[--env-memory]", "[remote] enforce")
                .containsPattern("--no-env-memory +GENV_ENFORCER_ENV_MEMORY=off\n")
                .containsPattern("-l, --username=USERNAME +GENV_ENFORCER_REMOTE_USERNAME\n");
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
        var characters = List.of("", "-", "=", "H", "q", "x", "1", " ", "@");
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
