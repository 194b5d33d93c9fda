package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.KeyPair;
import dev.genv.enforcer.config.settings.Variables.InvalidSettingsException;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Sourced;
import dev.genv.enforcer.policy.PolicyValues.Value;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.testsupport.KnownRules;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which values the variables have, which variables contradict each other, and how an error is reported. */
class SettingsTest {
    /** An administrator may set a secret by mistake, where a file is expected or under a wrong name. The log must not contain it. */
    private static final String SECRET = "s3cret";

    private static final Map<String, String> WITHOUT_MAIL = Map.of("MAIL_HOST", "", "MAIL_FROM", "", "MAIL_TO", "");

    private final Path folder;
    private final String knownHosts;

    SettingsTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        knownHosts = file("known_hosts", "");
    }

    /** The page of settings shows the defaults. */
    @Test
    void eachRuleHasItsDefault() throws InvalidSettingsException {
        var settings = SettingsReader.read(new Variables(Map.of()));

        assertThat(settings.safetyLimits())
                .isEqualTo(new SafetyLimits(Duration.ofSeconds(30), Duration.ofSeconds(30), 10));
        assertThat(settings.isRemote()).isFalse();
        assertThat(settings.rules()).containsOnlyKeys(KnownRules.all());
        settings.rules()
                .forEach((rule, config) ->
                        assertThat(config).as(rule.name()).isEqualTo(RuleConfig.of(rule.defaultMode())));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        INTERVAL                   | ' 2m '         | general.interval             | PT2M
        INTERVAL                   | 1500ms         | general.interval             | PT1.5S
        MODE                       | ' aUdIt '      | general.mode                 | AUDIT
        MODE                       | ''             | general.mode                 | ENFORCE
        WHATEVER                   | ''             | general.mode                 | ENFORCE
        NODE_NAME                  | ${HOME} a\\,b  | general.nodeName             | Optional[${HOME} a\\,b]
        GENV_TERMINATE_PROCESSES   | 0              | general.terminateProcesses   | false
        GENV_TMPDIR                | /srv/genv      | stateDirectory               | /srv/genv
        GENV_TMPDIR                | ' '            | stateDirectory               | /var/tmp/genv
        DATA_MAX_SIZE              | 4MiB           | data.dataMaxSize.bytes       | 4194304
        GRACE                      | 2m             | safetyLimits.grace           | PT2M
        COMPLIANCE_PERIOD          | 10m            | safetyLimits.compliancePeriod | PT10M
        MAX_TERMINATIONS_PER_CYCLE | 0              | safetyLimits.maxTerminations | 0
        EXEMPT_USERS               | ' a,10 , b-c$' | safety.exemptUsers           | [a, 10, b-c$]
        REMOTE_USERNAME            | raz            | remote.username              | Optional[raz]
        REMOTE_TIMEOUT             | 3s             | remote.timeout               | PT3S
        REMOTE_SUDO                | false          | remote.sudo                  | false
        REMOTE_STATE_DIR           | /srv/genv      | remote.stateDir              | /srv/genv
        # Otherwise the service would enforce on its own node instead of the machines.
        REMOTE_HOSTS               | ,              | isRemote                     | true
        WEBHOOK_URL                | http://127.0.0.1/         | notification.webhookUrl | Optional[http://127.0.0.1/]
        WEBHOOK_URL                | http://[::1]:8000/x?y=1   | notification.webhookUrl | Optional[http://[::1]:8000/x?y=1]
        WEBHOOK_URL                | https://example.org       | notification.webhookUrl | Optional[https://example.org]
        # Quarkus expands it.
        QUARKUS_HTTP_PORT          | ${PORT:8080}   | http.httpPort                | 8080
        """)
    void readsTheValue(String variable, String value, String setting, String expected) throws Exception {
        Object found = read(Map.of(variable, value));
        for (var name : setting.split("\\.", -1)) {
            // The class of a group is a proxy, which only its interface makes accessible.
            var type = Proxy.isProxyClass(found.getClass()) ? found.getClass().getInterfaces()[0] : found.getClass();
            found = type.getMethod(name).invoke(found);
        }
        assertThat(found).hasToString(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "NON_ENV_PROCESSES,false,OFF",
        "NON_ENV_PROCESSES,enforce,ENFORCE",
        "NON_ENV_PROCESSES,TRUE,ENFORCE",
        "MAX_DEVICES_PER_USER_MODE,off,OFF"
    })
    void readsTheModeOfARule(String variable, String value, RuleMode mode) throws InvalidSettingsException {
        var rule = Stream.of(KnownRules.all())
                .filter(each -> Variables.nameOf(each.name()).equals(variable.replace("_MODE", "")))
                .findFirst()
                .orElseThrow();
        assertThat(read(Map.of(variable, value)).rules()).containsEntry(rule, RuleConfig.of(mode));
    }

    /** In MiB, rounded down, because nvidia-smi reports whole ones. */
    @Test
    void readsLimitsOfMemory() throws InvalidSettingsException {
        var settings = read(Map.of(
                "MAX_MEMORY_PER_USER",
                "40g",
                "MAX_MEMORY_FOR_GROUP",
                "phd=1gi",
                "MAX_MEMORY_FOR_USER",
                "john=512mi,paul=1.5GiB"));

        assertThat(settings.rules())
                .containsEntry(
                        KnownRules.MAX_MEMORY_PER_USER,
                        new RuleConfig(
                                RuleMode.ENFORCE,
                                new Limits(38_146, Map.of("phd", 1024), Map.of("john", 512, "paul", 1536))));
    }

    @Test
    void readsCgroups() throws InvalidSettingsException {
        assertThat(read(Map.of("EXEMPT_CGROUPS", "/kubepods.slice, /system.slice/slurmstepd.scope/ /a:b@c"))
                        .safety()
                        .exemptCgroups())
                .containsExactly("/kubepods.slice", "/system.slice/slurmstepd.scope/", "/a:b@c");
        for (var invalid : List.of("kubepods", "/", "//", "/a//b", "/a/../b", "/..", "/./a", "/a,b")) {
            assertThatThrownBy(() -> read(Map.of("EXEMPT_CGROUPS", invalid)))
                    .as(invalid)
                    .isInstanceOf(InvalidSettingsException.class)
                    .hasMessageContaining("GENV_ENFORCER_EXEMPT_CGROUPS");
        }
    }

    @Test
    void readsListsAndVariablesThatTakePrecedence() throws InvalidSettingsException {
        var settings = read(Map.of(
                "MAX_DEVICES_PER_USER", "2",
                "MAX_DEVICES_FOR_USER", "john=3, paul=0  CORP\\b=4",
                "PROTECTED_EXECUTABLES", "/opt/a, /opt/b@alice /opt/c@*",
                "GENV_TMPDIR", "/srv/genv",
                "STATE_DIR", "/x",
                "KILL_AFTER", "Never",
                "REMOTE_HOSTS", "gpu-1,raz@gpu-2:2222, [::1]:22",
                "WEBHOOK_URL", "http://hooks.example.org/",
                "WEBHOOK_PLAIN_HTTP", "true"));
        assertThat(settings.rules())
                .containsEntry(
                        KnownRules.MAX_DEVICES_PER_USER,
                        new RuleConfig(RuleMode.ENFORCE, new Limits(2, Map.of("john", 3, "paul", 0, "CORP\\b", 4))));
        assertThat(settings.safety().protectedExecutables())
                .containsExactly(
                        new ProtectedExecutable(Path.of("/opt/a"), "0"),
                        new ProtectedExecutable(Path.of("/opt/b"), "alice"),
                        new ProtectedExecutable(Path.of("/opt/c"), "*"));
        assertThat(settings.stateDirectory()).isEqualTo(Path.of("/x"));
        assertThat(settings.safetyLimits().killAfter()).isNull();
        assertThat(settings.remote().hosts().orElseThrow())
                .containsExactly(
                        HostAddress.parse("gpu-1"), HostAddress.parse("raz@gpu-2:2222"), HostAddress.parse("[::1]:22"));
        assertThat(settings.notification().webhookUrl()).contains(URI.create("http://hooks.example.org/"));
    }

    @Test
    void singleCycleHasNoSafetyLimitsUnlessItsTerminationsAreLimited() throws InvalidSettingsException {
        var single = with(WITHOUT_MAIL, Map.of("INTERVAL", "0", "GRACE", "5s", "KILL_AFTER", "1s"));
        assertThat(read(single).safetyLimits()).isEqualTo(new SafetyLimits(Duration.ZERO, null, 0));
        assertThat(read(with(single, Map.of("MAX_TERMINATIONS_PER_CYCLE", "3")))
                        .safetyLimits()
                        .maxTerminations())
                .isEqualTo(3);
    }

    @Test
    void readsTheFilesOfTheSshConnections() throws Exception {
        var key = new ByteArrayOutputStream();
        KeyPair.genKeyPair(new JSch(), KeyPair.ECDSA, 256).writePrivateKey(key);
        var remote = read(Map.of(
                        "REMOTE_HOSTS", "",
                        "REMOTE_HOSTFILE", file("hosts", "gpu-7 # the new one\n"),
                        "REMOTE_IDENTITY_FILE", file("id", key.toString(StandardCharsets.US_ASCII)),
                        "REMOTE_PASSPHRASE_FILE", file("passphrase", "secret"),
                        "REMOTE_SSH_CONFIG", file("config", "Host *\n")))
                .remote();
        assertThat(remote.hosts()).isEmpty();
        assertThat(remote.hostfile()).contains(folder.resolve("hosts"));
        assertThat(remote.identityFile()).contains(folder.resolve("id"));
        assertThat(remote.passphraseFile()).contains(folder.resolve("passphrase"));
        assertThat(remote.sshConfig()).contains(folder.resolve("config"));
        assertThat(remote.knownHosts()).contains(folder.resolve("known_hosts"));
    }

    @Test
    void addressOfTheWebhookMayBeInAFileInsteadOfAVariable() throws Exception {
        var file = Map.of("WEBHOOK_URL_FILE", file("url", "https://hooks.example.org/s3cret\n"));
        assertThat(read(file).notification().webhookUrlFile().orElseThrow()).hasPath("/s3cret");
        assertThat(errors(with(file, Map.of("WEBHOOK_URL", "https://example.org/"))))
                .containsExactly("GENV_ENFORCER_WEBHOOK_URL_FILE: expected to be unset with GENV_ENFORCER_WEBHOOK_URL");
    }

    /** A user has the same form in every setting. */
    @ParameterizedTest
    @ValueSource(
            strings = {"user@corp.example.org", "CORP\\user", "First.Last", "SVC-INFER", "20231234", "+1003", "a$", "_x"
            })
    void acceptsEveryUser(String user) throws InvalidSettingsException {
        var settings = read(Map.of(
                "EXEMPT_USERS", "alice," + user,
                "PROTECTED_EXECUTABLES", "/opt/a@b/c@" + user,
                "MAX_DEVICES_FOR_USER", user + "=3",
                "MAX_DEVICES_FOR_GROUP", user + "=3,1003=2",
                "MAX_MEMORY_FOR_USER", user + "=3g",
                "REMOTE_HOSTS", "gpu-1",
                "REMOTE_USERNAME", user));
        assertThat(settings.safety().exemptUsers()).containsExactly("alice", user);
        assertThat(settings.safety().protectedExecutables())
                .containsExactly(new ProtectedExecutable(Path.of("/opt/a@b/c"), user));
        assertThat(settings.remote().username()).hasValue(user);
        assertThat(RuleSettings.values(settings.rules(), settings.safety().exemptUsers(), List.of())
                        .all())
                .containsEntry(
                        new PolicyKey(Kind.USER, "max-devices-per-user", user),
                        new Sourced(new Value.Most(3), "GENV_ENFORCER_MAX_DEVICES_FOR_USER"))
                .containsEntry(
                        new PolicyKey(Kind.USER, "max-memory-per-user", user),
                        new Sourced(new Value.Most(2861), "GENV_ENFORCER_MAX_MEMORY_FOR_USER"))
                .containsEntry(
                        new PolicyKey(Kind.GROUP, "max-devices-per-user", user),
                        new Sourced(new Value.Most(3), "GENV_ENFORCER_MAX_DEVICES_FOR_GROUP"))
                .containsEntry(
                        new PolicyKey(Kind.EXEMPT_USER, "", user),
                        new Sourced(new Value.Exempt(), "GENV_ENFORCER_EXEMPT_USERS"));
    }

    @ParameterizedTest
    @CsvSource({
        "INTERVAL,1d",
        "GRACE,1d",
        "GPU_TIMEOUT,1D",
        "IDLE_AFTER,5000ms",
        "DATA_MAX_AGE,90m",
        "DATA_MAX_AGE,86400"
    })
    void everyTimeTakesEveryUnit(String name, String value) {
        assertThatCode(() -> SettingsReader.read(new Variables(Map.of("GENV_ENFORCER_" + name, value))))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        MODE                     | enforec              | expected enforce or audit
        INTERVAL                 | abc                  | expected 0 for a single cycle, or a time from 1s to 24h, such as 10s or 2m
        INTERVAL                 | 500ms                | expected 0 for a single cycle
        INTERVAL                 | 25h                  | expected 0 for a single cycle
        INTERVAL                 | PT10S                | expected 0 for a single cycle
        COMPLIANCE_PERIOD        | 0                    | expected a time from 1s to 24h, such as 60s or 10m
        PROTECTED_EXECUTABLES    | opt/a                | expected absolute paths
        PROTECTED_EXECUTABLES    | /opt/a@              | expected absolute paths
        PROTECTED_EXECUTABLES    | /opt/a,b@alice       | expected absolute paths
        PROTECTED_EXECUTABLES    | @alice               | expected absolute paths
        EXEMPT_USERS             | @                    | expected names or uids of users, such as alice,+1003
        EXEMPT_USERS             | @corp                | expected names or uids
        EXEMPT_USERS             | +alice               | expected names or uids
        EXEMPT_USERS             | -alice               | expected names or uids
        EXEMPT_USERS             | 4294967295           | expected names or uids
        EXEMPT_USERS             | a=b                  | expected names or uids
        EXEMPT_USERS             | *                    | expected names or uids
        EXEMPT_USERS             | /home/alice          | expected names or uids
        EXEMPT_USERS             | a=b" threw an Exception whilst being converted c | expected names or uids
        MAX_DEVICES_PER_USER     | -1                   | expected a whole number from 0
        PROTECTED_EXECUTABLES    | /opt/a@-alice        | expected absolute paths
        MAX_DEVICES_FOR_USER     | a=b=3                | expected users with a limit each
        MAX_DEVICES_FOR_USER     | *=3                  | expected users with a limit each
        MAX_MEMORY_FOR_USER      | 4294967295=3g        | expected users with an amount of memory each
        MAX_DEVICES_FOR_USER     | john                 | expected users with a limit each, each once, such as john=3,paul=2
        IDLE_AFTER               | 0s                   | expected a time from 1s to 3650d, such as 4h or 2d
        IDLE_UTILIZATION         | 101                  | expected a whole number from 0 to 100
        MAX_MEMORY_PER_USER      | 40x                  | expected an amount of memory with its unit, such as 40g or 512mi
        MAX_MEMORY_FOR_USER      | john=1g,john=2g      | expected users with an amount of memory each, each once, such as john=40g,paul=512mi
        ENV_OWNER                | maybe                | expected off, audit or enforce
        STATE_DIR                | relative             | expected an absolute path
        GENV_METRICS             | some                 | expected off, hosts or all
        REQUIRE_HOST_PID         | maybe                | expected true or false
        GENV_TERMINATE_PROCESSES | no                   | expected 0 or 1
        DATA_MAX_SIZE            | 4095KiB              | expected a size from 4MiB to 1024GiB, such as 256MiB or 2GiB
        QUARKUS_HTTP_PORT        | $PORT                | expected a port, 0 to 65535
        TERMINAL_MESSAGES        | maybe                | expected on or off
        MAIL_HOST                | a b                  | expected the name or the address of a host
        MAIL_TLS                 | maybe                | expected required, opportunistic or none
        MAIL_FROM                | GPU <gpu@example.org> | expected a mail address
        MAIL_TO                  | user@example.org     | expected a mail address with {user}
        MAIL_TO                  | {user}               | expected a mail address with {user}
        MAIL_DELAY               | 25h                  | expected a time from 0s to 24h
        MAIL_MAX_PER_HOUR        | 61                   | expected a whole number from 1 to 60
        WEBHOOK_FORMAT           | xml                  | expected cloudevents or text
        WEBHOOK_EVENTS           | acted,closed         | expected opened, warned, acted or resolved, such as acted,resolved
        MAIL_REPLY_TO            | somebody             | expected a mail address
        PUBLIC_URL               | gpus.example.org     | expected an address with https or http and a host
        REMOTE_HOSTS             | gpu-1,@              | "@" is not a user name
        REMOTE_HOSTS             | gpu-1:99999          | "gpu-1:99999" is not a port
        REMOTE_HOSTFILE          | /does/not/exist      | /does/not/exist: there is no such file
        REMOTE_KNOWN_HOSTS       | /does/not/exist      | expected a file that can be read
        REMOTE_USERNAME          | -oProxyCommand       | expected the name of a user
        REMOTE_IDENTITY_FILE     | /does/not/exist      | expected a file that can be read
        REMOTE_TIMEOUT           | 0                    | expected a time from 1ms to 24h
        """)
    void refusesAnInvalidValue(String variable, String value, String reason) {
        assertThat(errors(Map.of(variable, value)))
                .singleElement()
                .asString()
                .startsWith("%s=%s: %s".formatted(nameOf(variable), value, reason));
    }

    /** The service reads the files at its start, because a later error makes machines unreachable. */
    @ParameterizedTest
    @CsvSource({
        "IDENTITY_FILE,no key,invalid privatekey",
        "KNOWN_HOSTS,gpu-1 ssh-ed25519 AAAA!,is not a valid known_hosts file",
        "HOSTFILE,'gpu-1\n# fine\nbad host\n',line 3"
    })
    void refusesInvalidFilesOfTheSshConnections(String name, String content, String reason) throws IOException {
        var path = file("spoilt", content);
        assertThat(errors(Map.of("REMOTE_" + name, path)))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_REMOTE_%s=%s: ".formatted(name, path))
                .contains(reason);
    }

    @Test
    void requiresAValidTokenFileAtTheStart() throws Exception {
        var variable = Map.of("API_TOKEN_FILE", file("token", "s3cret\n"));
        assertThat(read(variable).http().apiTokenFile()).contains(folder.resolve("token"));

        file("token", "top s3cret");
        assertThat(errors(variable))
                .containsExactly("GENV_ENFORCER_API_TOKEN_FILE: expected a file with one token of at most 4096 ASCII"
                        + " characters without blanks: it is not one word of ASCII characters");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        API_TOKEN|s3cret|there is no such setting; did you mean GENV_ENFORCER_API_TOKEN_FILE?
        REMOTE_PASSPHRASE|s3cret|there is no such setting; did you mean GENV_ENFORCER_REMOTE_PASSPHRASE_FILE?
        API_TOKEN_FILE|s3cret|expected an absolute path
        REMOTE_PASSPHRASE_FILE|/s3cret|expected a file that can be read
        WEBHOOK_SECRET_FILE|/s3cret|expected a file
        WEBHOOK_URL_FILE|/s3cret|expected a file
        WEBHOOK_URL|hooks.example.org/s3cret|expected an address
        WEBHOOK_URL|https://user:s3cret@hooks.example.org/|expected an address
        WEBHOOK_URL|https://hooks.example.org/s3cret#x|expected an address
        WEBHOOK_URL|https://hooks.example.org/ s3cret|expected an address
        WEBHOOK_URL|http://hooks.example.org/s3cret|expected https, or http on localhost
        """)
    void reportsAnErrorWithoutASecret(String variable, String value, String reason) {
        assertThat(errors(Map.of(variable, value)))
                .noneMatch(line -> line.contains(SECRET))
                .anyMatch(line -> line.startsWith("%s: %s".formatted(nameOf(variable), reason)));
    }

    /** The variables, and the beginning of each error. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # Without the value, which may be the passphrase.
        NO_MACHINES REMOTE_PASSPHRASE_FILE=/etc/passwd        | REMOTE_PASSPHRASE_FILE: has no effect without machines
        NO_MACHINES REMOTE_QUIET=true REMOTE_STATE_DIR=/x     | REMOTE_QUIET=true: has no effect, REMOTE_STATE_DIR=/x: has no effect
        NO_MACHINES REMOTE_SUDO=false REMOTE_TIMEOUT=3s       | REMOTE_SUDO=false: has no effect, REMOTE_TIMEOUT=3s: has no effect
        NO_MACHINES REMOTE_USERNAME=raz                       | REMOTE_USERNAME=raz: has no effect without machines
        # A machine with an unknown key is refused, so without keys every machine would be.
        REMOTE_KNOWN_HOSTS=                                   | REMOTE_KNOWN_HOSTS=: expected a file
        TERMINAL_MESSAGES=on                                  | TERMINAL_MESSAGES=on: expected off with machines over SSH
        MAIL_HOST=       | MAIL_FROM=gpu@example.org: has no effect without GENV_ENFORCER_MAIL_HOST, MAIL_TO={user}@example.org: has no effect
        MAIL_FROM= MAIL_TO=                                   | MAIL_FROM=: expected a mail address, MAIL_TO=: expected an address with {user}
        MAIL_USER=gpu                                         | MAIL_PASSWORD_FILE: expected a value
        TLS_CERTIFICATE_FILE=/etc/passwd                      | TLS_KEY_FILE=: expected the file with the key of the certificate
        TLS_KEY_FILE=/etc/passwd                              | TLS_KEY_FILE=/etc/passwd: has no effect without GENV_ENFORCER_TLS_CERT
        TLS_CLIENT_CA_FILE=/etc/passwd                        | TLS_CLIENT_CA_FILE=/etc/passwd: has no effect without GENV_ENFORCER_TLS_CERT
        WEBHOOK_FORMAT=text                                   | WEBHOOK_FORMAT=text: has no effect without GENV_ENFORCER_WEBHOOK_URL
        NO_MAIL AUDIT_MESSAGES=on                             | AUDIT_MESSAGES=on: has no effect without GENV_ENFORCER_TERMINAL_MESSAGES
        NO_MACHINES INTERVAL=0 TERMINAL_MESSAGES=on           | MAIL_HOST=mail.example.org: expected to be unset with GENV_ENFORCER_INTERVAL=0, \
        TERMINAL_MESSAGES=on: expected to be unset with GENV_ENFORCER_INTERVAL=0
        NO_MACHINES NO_MAIL INTERVAL=0 DATA_DIR=/data MODE=x REMOTE_QUIET=true REMOTE_SUDO=x | DATA_DIR=/data: expected no value with \
        GENV_ENFORCER_INTERVAL=0, MODE=x: expected, REMOTE_QUIET=true: has no effect without machines, REMOTE_SUDO=x: expected
        """)
    void reportsEveryContradiction(String variables, String expected) {
        var all = variables
                .replace("NO_MACHINES", "REMOTE_HOSTS= REMOTE_KNOWN_HOSTS=")
                .replace("NO_MAIL", "MAIL_HOST= MAIL_FROM= MAIL_TO=");
        var errors = errors(Stream.of(all.split(" ", -1))
                .map(each -> each.split("=", 2))
                .collect(Collectors.toMap(each -> each[0], each -> each[1])));

        var beginnings = expected.split(", ", -1);
        assertThat(errors).hasSameSizeAs(beginnings);
        for (var i = 0; i < beginnings.length; i++) {
            assertThat(errors.get(i)).startsWith("GENV_ENFORCER_" + beginnings[i]);
        }
    }

    @Test
    void loginNeedsUserPasswordAndTls() throws Exception {
        var password = Map.of("MAIL_PASSWORD_FILE", file("password", SECRET));
        var login = with(password, Map.of("MAIL_USER", "gpu"));
        assertThat(read(login).notification().mailUser()).contains("gpu");
        assertThat(errors(with(login, Map.of("MAIL_TLS", "none"))))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_MAIL_TLS=none");
        assertThat(errors(password)).singleElement().asString().startsWith("GENV_ENFORCER_MAIL_USER");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # within two letters
        MAX_DEVICES_PER_USR  | GENV_ENFORCER_MAX_DEVICES_PER_USER
        MOED                 | GENV_ENFORCER_MODE
        GRACE_               | GENV_ENFORCER_GRACE
        # with all its words, or most of both
        MAX_DEVICES          | GENV_ENFORCER_MAX_DEVICES_FOR_USER or GENV_ENFORCER_MAX_DEVICES_PER_USER
        TMPDIR               | GENV_TMPDIR
        PORT                 | GENV_ENFORCER_MAIL_PORT or QUARKUS_HTTP_PORT
        HTTP_PORT            | QUARKUS_HTTP_PORT
        KNOWN_HOSTS          | GENV_ENFORCER_REMOTE_KNOWN_HOSTS
        MAX_DEVICES_PER_ACCOUNT | GENV_ENFORCER_MAX_DEVICES_PER_USER
        # with too few
        LOG_LEVEL            |
        REMOTE_KEY           |
        QQQQQQQQQQQQQQQ      |
        """)
    void refusesAnUnknownVariableAndNamesTheNearestSetting(String name, @Nullable String hint) {
        assertThat(errors(Map.of(name, "x")))
                .containsExactly(nameOf(name) + ": there is no such setting"
                        + (hint == null ? "" : "; did you mean " + hint + "?"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"off", "audit", "enforce"})
    void refusesAReplacedSettingAndNamesWhatReplacesIt(String value) {
        assertThat(errors(Map.of("UNLISTED_PROCESSES", value)))
                .containsExactly("GENV_ENFORCER_UNLISTED_PROCESSES: there is no such setting; remove it: the problem"
                        + " unexplained_memory reports this memory, above GENV_ENFORCER_UNLISTED_MEMORY");
    }

    @Test
    void namesVariablesThatAreASettingButForTheirPrefix() {
        var variables = new Variables(Map.of(
                "ENFORCER_MODE", "audit",
                "GENV_GRACE", SECRET,
                "INTERVAL", "5",
                "GENV_TMPDIR", "/x",
                "GENV_ENVIRONMENT_ID", "1",
                "PATH", "/bin",
                "GENV_INTERVAL", " ",
                "MAIL_HOST", "other",
                "GENV_ENFORCER_MAIL_HOST", "mail"));
        assertThat(variables.misnamed(SettingsReader.variables()))
                .containsExactly(
                        "ENFORCER_MODE has no effect: the setting is GENV_ENFORCER_MODE",
                        "GENV_GRACE has no effect: the setting is GENV_ENFORCER_GRACE",
                        "INTERVAL has no effect: the setting is GENV_ENFORCER_INTERVAL");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "PORT=tcp://10.0.0.1:8080",
                "PORT_8080_TCP=tcp://10.0.0.1:8080",
                "SERVICE_PORT_HTTP=8080",
                "METRICS_PORT_8080_TCP_PROTO=tcp"
            })
    void ignoresVariablesThatKubernetesAdds(String variable) throws InvalidSettingsException {
        var parts = variable.split("=", 2);
        assertThat(read(Map.of(parts[0], parts[1])).isRemote()).isTrue();
    }

    /** Reads these variables beside valid ones for machines and for mails. A blank one is unset. */
    private Settings read(Map<String, String> variables) throws InvalidSettingsException {
        var all = new HashMap<String, String>();
        var base = Map.of(
                "REMOTE_HOSTS", "gpu-1",
                "REMOTE_KNOWN_HOSTS", knownHosts,
                "MAIL_HOST", "mail.example.org",
                "MAIL_FROM", "gpu@example.org",
                "MAIL_TO", "{user}@example.org");
        with(base, variables).forEach((name, value) -> all.put(nameOf(name), value));
        return SettingsReader.read(new Variables(all));
    }

    private List<String> errors(Map<String, String> variables) {
        return catchThrowableOfType(InvalidSettingsException.class, () -> read(variables))
                .lines();
    }

    private String file(String name, String content) throws IOException {
        return Files.writeString(folder.resolve(name), content).toString();
    }

    private static String nameOf(String variable) {
        return variable.matches("(GENV_T|QUARKUS_).*") ? variable : "GENV_ENFORCER_" + variable;
    }

    private static Map<String, String> with(Map<String, String> variables, Map<String, String> others) {
        var all = new HashMap<>(variables);
        all.putAll(others);
        return all;
    }
}
