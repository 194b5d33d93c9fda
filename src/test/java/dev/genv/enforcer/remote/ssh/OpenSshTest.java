package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;
import static org.awaitility.Awaitility.await;

import com.jcraft.jsch.JSch;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentMachine;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.testsupport.GeneratedSection;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A real OpenSSH server with a real sudo: one agent for all observations and what becomes of it, and logins. */
class OpenSshTest extends ServerTest {
    private static final ObservationRequest NOTHING = new ObservationRequest(Set.of());

    private RealHosts hosts;
    private RealSshd host;
    private Machine machine;

    @BeforeEach
    void start() throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        host = hosts.start("gpu-1");
        host.sudoers(RealSshd.ADMIN + " ALL=(root) NOPASSWD: /usr/bin/python3");
        host.gpus().gpus(1);
        host.state().device(0).write();
        connection = connect();
        machine = machine(connection, HANG);
    }

    private Connection connect() {
        var settings = new SshSettings(RealSshd.ADMIN, hosts.identity(), null, null, null, hosts.knownHosts(), HANG);
        return connect(access(settings), host.target());
    }

    private static Machine machine(Connection connection, Duration timeout) {
        var config = new AgentConfig(
                RealSshd.STATE, HANG, "nvidia-smi", HANG, timeout, true, List.of(), true, Duration.ofMinutes(1));
        return AgentMachine.ofOneService(config).apply("gpu-1", connection);
    }

    @AfterEach
    void close() throws Exception {
        if (hosts != null) {
            hosts.close();
        }
    }

    @Test
    void oneAgentAnswersAllObservations() throws Exception {
        machine.observe(NOTHING);
        var agent = agent();
        for (var i = 0; i < 10; i++) {
            machine.observe(NOTHING);
        }
        assertThat(agent()).isEqualTo(agent);
        assertThat(processes("sudo")).hasSize(1);
    }

    @Test
    void nothingRemainsWhenTheServiceDisconnects() throws Exception {
        machine.observe(NOTHING);
        connection.close();
        await().until(() -> processes("python3").isEmpty() && processes("sudo").isEmpty());
    }

    /** Whatever of it is killed between two observations, the next one succeeds. */
    @Test
    void startsAnAgentAgainThatWasKilledBetweenObservations() throws Exception {
        for (var program : List.of("python3", "sudo", "sshd")) {
            for (var i = 0; i < 3; i++) {
                machine.observe(NOTHING);
                var killed = program.equals("sshd") ? host.connections() : processes(program);
                assertThat(killed).isNotEmpty();
                killed.forEach(ProcessHandle::destroyForcibly);
                await().until(() -> killed.stream().noneMatch(ProcessHandle::isAlive));
                machine.observe(NOTHING);
            }
        }
    }

    @Test
    void reportsAnAgentThatIsKilledDuringAnObservation() throws Exception {
        machine.observe(NOTHING);
        for (var program : List.of("python3", "sshd")) {
            var begun = directory.resolve("begun-" + program);
            host.gpus().fault("echo >%s; exec sleep 3600".formatted(begun));
            var observation = new FutureTask<>(() -> machine.observe(NOTHING));
            Thread.startVirtualThread(observation);
            await().until(() -> Files.exists(begun));
            (program.equals("sshd") ? host.connections() : processes(program)).forEach(ProcessHandle::destroyForcibly);
            assertThatThrownBy(observation::get)
                    .cause()
                    .asInstanceOf(type(UnreachableException.class))
                    .extracting(UnreachableException::code)
                    .isIn(
                            program.equals("sshd")
                                    ? Set.of(ProblemCode.CONNECTION_LOST)
                                    : Set.of(ProblemCode.AGENT_KILLED, ProblemCode.AGENT_FAILED));
            host.gpus().noFault();
            advanceTime(Duration.ofMinutes(1));
            machine.observe(NOTHING);
        }
    }

    /** The agent that was stopped must not stay: its successor would be a second one. */
    @Test
    void replacesAnAgentThatDoesNotAnswer() throws Exception {
        var impatient = machine(connect(), Duration.ofSeconds(3));
        await().until(() -> isObserved(impatient) && agents().size() == 1); // one that was too slow may not have ended
        var stopped = agent();
        signal("STOP", stopped);
        assertThatThrownBy(() -> impatient.observe(NOTHING))
                .asInstanceOf(type(UnreachableException.class))
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.TIMEOUT);
        signal("CONT", stopped);
        for (var sudo : processes("sudo")) {
            signal("CONT", sudo); // it stops with its command
        }
        await().until(() -> !stopped.isAlive());
        await().until(() -> isObserved(impatient));
    }

    private boolean isObserved(Machine impatient) throws InterruptedException {
        advanceTime(Duration.ofMinutes(1));
        try {
            impatient.observe(NOTHING);
            return true;
        } catch (UnreachableException _) {
            return false; // this machine is busy
        }
    }

    private static void signal(String name, ProcessHandle process) throws Exception {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .start()
                .waitFor();
    }

    private ProcessHandle agent() {
        return await("an earlier one that was too slow may still end")
                .until(this::agents, agents -> agents.size() == 1)
                .getFirst();
    }

    /** Their own children, which may not have exited yet, run the same program. */
    private List<ProcessHandle> agents() {
        return processes("python3").stream()
                .filter(process -> process.parent()
                        .filter(parent -> name(parent).equals("python3"))
                        .isEmpty())
                .toList();
    }

    private List<ProcessHandle> processes(String program) {
        return host.processes().stream()
                .filter(process -> name(process).equals(program))
                .toList();
    }

    private static String name(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "comm"))
                    .strip();
        } catch (IOException _) {
            return ""; // it has exited
        }
    }

    @Test
    void reportsKilledCommandAndItsSignal() throws Exception {
        var answer = connection.request(request("kill -KILL $$"));

        assertThat(answer.exitCode()).isNull();
        assertThat(answer.interruption())
                .hasMessage("it was terminated by signal KILL")
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.AGENT_KILLED);
    }

    // Logins, with certificates and keys that OpenSSH's and OpenSSL's programs made.

    /**
     * Lines of known_hosts, the options with which an authority signs the host's key, and what refuses it: nothing, a message, or another
     * message with the code of a changed key. CA and OTHER are authorities, KEY is the host's key, NAME its name and ADDRESS its address.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        @cert-authority * CA                       | -h -n ADDRESS                                |
        @cert-authority ADDRESS CA                 | -h -n other,ADDRESS                          |
        @cert-authority x,NAME CA                  | -h -n ADDRESS -V -1h:+1h                     |
        @cert-authority * OTHER; @cert-authority 127.* CA | -h -n ADDRESS                         |
        @cert-authority * CA                       | -h -n 127.*                                  |
        # whom the lines trust
        @cert-authority *,!ADDRESS CA              | -h -n ADDRESS | is not in
        @cert-authority *.example.org CA           | -h -n ADDRESS | is not in
        ADDRESS CA                                 | -h -n ADDRESS | CHANGED is not the one in
        @cert-authority * OTHER                    | -h -n ADDRESS | Certification Authority not in the known hosts
        # what the certificate says
        @cert-authority * CA                       | -h -n other   | invalid principal
        @cert-authority * CA                       | -h            | allowed principals list is null or empty
        @cert-authority * CA                       | -n ADDRESS    | user certificate
        @cert-authority * CA                       | -h -n ADDRESS -V 20200101:20200102 | not valid (expired or not yet valid)
        @cert-authority * CA                       | -h -n ADDRESS -V 20900101:20900102 | not valid (expired or not yet valid)
        @cert-authority * CA                       | -h -n ADDRESS -O critical:x@example.org=1 | unrecognized critical options
        # revoked
        @cert-authority * CA; @revoked * CA        | -h -n ADDRESS | CHANGED is revoked in
        @cert-authority * CA; @revoked x KEY       | -h -n ADDRESS | CHANGED is revoked in
        @cert-authority * CA; NAME KEY; @revoked * CA | -h -n ADDRESS | CHANGED is revoked in
        # like OpenSSH, a known key needs no certificate
        NAME KEY                                   | -h -n other   |
        NAME KEY; @cert-authority * OTHER          | -h -n ADDRESS |
        NAME KEY; @cert-authority * CA             | -h -n ADDRESS -V 20200101:20200102 |
        """)
    void checksTheCertificateOfAHost(String known, String options, @Nullable String refused) throws Exception {
        for (var authority : List.of("CA", "OTHER")) {
            Programs.newKey("ed25519", directory.resolve(authority));
        }
        var address = host.target().split(":", -1)[0];
        certify("CA", options.replace("ADDRESS", address).split(" ", -1));
        assertAnswer(
                known.replace("NAME", "[%s]:%s".formatted(address, host.target().split(":", -1)[1]))
                        .replace("ADDRESS", address)
                        .replace("; ", "\n")
                        .replace("CA", publicKey(directory.resolve("CA")))
                        .replace("OTHER", publicKey(directory.resolve("OTHER")))
                        .replace("KEY", host.hostKey()),
                refused);
    }

    /** The kind of the authority's key, how it signs, and what refuses it. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        rsa   | rsa-sha2-512 |
        rsa   | rsa-sha2-256 |
        rsa   | ssh-rsa      | CA signature algorithm
        ecdsa | ecdsa-sha2-nistp256 |
        """)
    void checksTheAlgorithmOfTheAuthority(String kind, String algorithm, @Nullable String refused) throws Exception {
        Programs.newKey(kind, directory.resolve("CA"));
        certify("CA", "-h", "-n", host.target().split(":", -1)[0], "-t", algorithm);
        assertAnswer("@cert-authority * " + publicKey(directory.resolve("CA")), refused);
    }

    /** OpenSSH's server would not show it. */
    @Test
    void refusesAForgedCertificate() throws Exception {
        Programs.newKey("ecdsa", directory.resolve("CA"));
        writeFile("host.pub", server.hostKey() + "\n");
        Programs.shell(directory, "ssh-keygen -q -s CA -I x -h -n %s host.pub".formatted(server.address()));
        var certificate = directory.resolve("host-cert.pub");
        var connected =
                connect(access("@cert-authority * " + publicKey(directory.resolve("CA")) + "\n"), server.target());
        server.stop();
        server.certificate(certificate);
        server.start();
        assertReached(connected);

        server.stop();
        var words = Files.readString(certificate).split(" ", -1);
        var forged = Base64.getDecoder().decode(words[1]);
        forged[forged.length - 1] ^= 1; // the last part is the signature
        Files.writeString(certificate, words[0] + " " + Base64.getEncoder().encodeToString(forged) + "\n");
        server.start();
        assertRefused(connected, ProblemCode.HOST_KEY_UNKNOWN).contains("signature verification failed");
    }

    private void certify(String authority, String... options) throws IOException {
        host.stop();
        host.certify(directory.resolve(authority), options);
        host.start();
    }

    private void assertAnswer(String known, @Nullable String refused) throws Exception {
        var settings = new SshSettings("root", hosts.identity(), null, null, null, writeKnownHosts(known + "\n"), HANG);
        var connected = connect(access(settings), host.target());
        if (refused == null) {
            assertReached(connected);
        } else if (refused.startsWith("CHANGED")) {
            assertRefused(connected, ProblemCode.HOST_KEY_CHANGED).contains(refused.substring("CHANGED".length()));
        } else {
            assertRefused(connected, ProblemCode.HOST_KEY_UNKNOWN).contains(refused);
        }
    }

    /** How a key is made, and how it becomes one of PKCS#8. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ssh-keygen -q -t rsa -m PKCS8 -N '' -f KEY
        ssh-keygen -q -t ecdsa -m PKCS8 -N '' -f KEY
        ssh-keygen -q -t rsa -m PKCS8 -N sesame -f KEY
        openssl genpkey -algorithm ed25519 -out KEY
        openssl genpkey -algorithm ed25519 -out open; openssl pkcs8 -topk8 -in open -out KEY -passout pass:sesame
        openssl genpkey -algorithm ec -pkeyopt ec_paramgen_curve:P-384 -out KEY
        """)
    void logsInWithAPrivateKeyInPkcs8(String commands) throws Exception {
        var identity = directory.resolve("pkcs8");
        Programs.shell(directory, commands.replace("KEY", identity.toString()));
        assertThat(identity)
                .content()
                .startsWith("-----BEGIN " + (commands.contains("sesame") ? "ENCRYPTED " : "") + "PRIVATE KEY");
        host.authorize(
                commands.startsWith("ssh-keygen")
                        ? Files.readString(directory.resolve("pkcs8.pub"))
                        : opensshKey(
                                identity,
                                commands.contains("sesame") ? new String[] {"-passin", "pass:sesame"} : new String[0]));
        var phrase = commands.contains("sesame") ? writeFile("phrase", "sesame\n") : null;
        var settings = new SshSettings("root", identity, phrase, null, null, hosts.knownHosts(), HANG);
        assertReached(connect(access(settings), host.target()));
    }

    @ParameterizedTest
    @CsvSource({"rsa", "ecdsa", "ed25519"})
    void logsInWithAKeyOfSshAgent(String kind) throws Exception {
        var socket = directory.resolve("agent");
        var identity = directory.resolve("key");
        Programs.newKey(kind, identity);
        host.authorize(Files.readString(directory.resolve("key.pub")));
        var agent = new ProcessBuilder("ssh-agent", "-D", "-a", socket.toString()).start();
        try {
            await().until(() -> Files.exists(socket));
            var connected = connect(access(agentSettings(socket, HANG)), host.target());
            assertRefused(connected, ProblemCode.AUTHENTICATION_FAILED)
                    .contains("there is no private key in ssh-agent");
            Programs.run("env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", identity.toString());
            advanceTime(Duration.ofMinutes(1));
            assertReached(connected);
        } finally {
            agent.destroyForcibly();
        }
        assertRefused(connect(access(agentSettings(socket, HANG)), host.target()), ProblemCode.AUTHENTICATION_FAILED)
                .contains("it does not answer at " + socket);
    }

    /** The agent then holds two keys: the one with the certificate, and the one without. */
    @ParameterizedTest
    @CsvSource({"rsa", "ecdsa", "ed25519"})
    void logsInWithACertificateOfAKeyOfSshAgent(String kind) throws Exception {
        var socket = directory.resolve("agent");
        var identity = certifiedKey(kind, "-n root");
        var certificate = directory.resolve("key-cert.pub");
        var elsewhere = directory.resolve("elsewhere");
        var agent = new ProcessBuilder("ssh-agent", "-D", "-a", socket.toString()).start();
        try {
            await().until(() -> Files.exists(socket));
            Programs.run("env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", identity.toString());
            assertReached(connect(access(agentSettings(socket, HANG)), host.target()));

            Programs.run("env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", "-D");
            Files.move(certificate, elsewhere);
            Programs.run("env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", identity.toString());
            assertRefused(
                            connect(access(agentSettings(socket, HANG)), host.target()),
                            ProblemCode.AUTHENTICATION_FAILED)
                    .isEqualTo("it refuses the key of root");
            var config = writeFile("config", "CertificateFile " + elsewhere);
            assertReached(connect(
                    access(new SshSettings("root", null, null, config, socket, hosts.knownHosts(), HANG)),
                    host.target()));
        } finally {
            agent.destroyForcibly();
        }
    }

    /** The kind of the key, how the authority signs it, and the message if the server refuses it. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        rsa     | -n root                         |
        ecdsa   | -n root -V -1h:+1h              |
        ed25519 | -n admin,root                   |
        ed25519 | -n admin                        | it refuses the key of root
        ed25519 | -n root -V 20200101:20200102    | it refuses the key of root
        """)
    void logsInWithACertificate(String kind, String options, @Nullable String refused) throws Exception {
        var identity = certifiedKey(kind, options);
        var beside = directory.resolve("key-cert.pub");
        var elsewhere = directory.resolve("elsewhere");
        assertLogin(identity, null, refused);
        Files.move(beside, elsewhere);
        assertLogin(identity, null, "it refuses the key of root");
        assertLogin(identity, "CertificateFile " + elsewhere, refused);

        // The file beside a key may be that of an older one, and a named one is another's by mistake.
        var other = directory.resolve("other");
        Programs.newKey(kind, other);
        Files.copy(elsewhere, directory.resolve("other-cert.pub"));
        assertLogin(other, null, "it refuses the key of root");
        assertLogin(
                other, "CertificateFile " + elsewhere, elsewhere + " is the certificate of none of the private keys");
        for (var invalid :
                List.of("", "ssh-ed25519 AAAA", "ssh-ed25519-cert-v01@openssh.com AAAA", "x-cert-v01@openssh.com ?")) {
            Files.writeString(elsewhere, invalid);
            assertLogin(identity, "CertificateFile " + elsewhere, elsewhere + " is not a certificate of OpenSSH: ");
        }
        assertLogin(identity, "CertificateFile /missing", "/missing");
    }

    private void assertLogin(Path identity, @Nullable String config, @Nullable String refused) throws Exception {
        var file = config == null ? null : writeFile("config", config);
        var connected = connect(
                access(new SshSettings("root", identity, null, file, null, hosts.knownHosts(), HANG)), host.target());
        if (refused == null) {
            assertReached(connected);
        } else {
            assertRefused(connected, ProblemCode.AUTHENTICATION_FAILED).startsWith(refused);
        }
    }

    /** Starts the server again so that it trusts an authority and no key; returns a key with its certificate beside it. */
    private Path certifiedKey(String kind, String options) throws IOException {
        var identity = directory.resolve("key");
        Programs.newKey(kind, identity);
        Programs.newKey("ed25519", directory.resolve("CA"));
        Programs.shell(directory, "ssh-keygen -q -s CA -I test %s key.pub".formatted(options));
        restart("TrustedUserCAKeys %s\nAuthorizedKeysFile none".formatted(directory.resolve("CA.pub")));
        return identity;
    }

    private void restart(String lines) throws IOException {
        host.stop();
        host.configure(lines);
        host.start();
    }

    /** What the server demands after the key, and what is reported; nothing if the login succeeds. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        publickey,password                                    | demands password, |
        publickey,keyboard-interactive publickey,password     | demands keyboard-interactive,password, | demands password,keyboard-interactive,
        publickey,publickey                                   | demands publickey, |
        password                                              | it refuses the key of root |
        publickey                                             | |
        """)
    void namesWhatIsDemandedBesideTheKey(String methods, @Nullable String first, @Nullable String other)
            throws Exception {
        restart("AuthenticationMethods %s\nPasswordAuthentication yes\nKbdInteractiveAuthentication yes\nUsePAM %s"
                .formatted(methods, methods.contains("keyboard") ? "yes" : "no"));
        var settings = new SshSettings("root", hosts.identity(), null, null, null, hosts.knownHosts(), HANG);
        var connected = connect(access(settings), host.target());
        if (first == null) {
            assertReached(connected);
        } else {
            assertRefused(connected, ProblemCode.AUTHENTICATION_FAILED)
                    .containsAnyOf(first, other == null ? first : other)
                    .startsWith(first.startsWith("it") ? first : "it accepts the key of root but also ");
        }
    }

    @Test
    void logsInWithTwoKeysIfTheServerDemandsThem() throws Exception {
        Programs.newKey("ecdsa", directory.resolve("second"));
        host.authorize(Files.readString(directory.resolve("second.pub")));
        restart("AuthenticationMethods publickey,publickey");
        var config = writeFile(
                "config", "IdentityFile %s\nIdentityFile %s".formatted(hosts.identity(), directory.resolve("second")));
        assertReached(connect(
                access(new SshSettings("root", null, null, config, null, hosts.knownHosts(), HANG)), host.target()));
    }

    /** What the login shell or sudo does instead of starting the agent, and what is reported. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        echo This account is currently not available.; exit 1 | AGENT_FAILED | exited with 1 before the agent began: This account is currently not available.
        exit 1                                                | AGENT_FAILED | exited with 1 before the agent began: it printed nothing
        echo 'sudo: interactive authentication is required' >&2; exit 1    | SUDO_REFUSED | NOPASSWD: /usr/bin/python3 in sudoers: sudo: interactive
        echo "sudo: I'm sorry svc. I'm afraid I can't do that" >&2; exit 1 | SUDO_REFUSED | NOPASSWD: /usr/bin/python3 in sudoers: sudo: I'm sorry svc.
        """)
    void reportsWhatTheLoginSays(String shell, ProblemCode code, String message) throws Exception {
        host.setLoginShell(shell);
        assertThatThrownBy(() -> machine.observe(NOTHING))
                .hasMessageContaining(message)
                .hasMessageNotContainingAny(code == ProblemCode.AGENT_FAILED ? "python3" : "exited")
                .asInstanceOf(type(UnreachableException.class))
                .extracting(UnreachableException::code)
                .isEqualTo(code);
    }

    /** The algorithms that the service offers, by their kinds, in the order of preference. */
    private static Map<String, String> algorithms() {
        var all = new LinkedHashMap<String, String>();
        all.put("key exchange", SshAccess.JSCH_CONFIG.get("kex"));
        all.put("cipher", JSch.getConfig("cipher.c2s"));
        all.put("MAC", JSch.getConfig("mac.c2s"));
        all.put("host key", SshAccess.KEY_ALGORITHMS);
        all.put("key to log in with", JSch.getConfig("PubkeyAcceptedAlgorithms"));
        return all;
    }

    @Test
    void pageNamesTheAlgorithms() throws Exception {
        var text = new StringBuilder("\n| | in the order of preference |\n| --- | --- |\n");
        algorithms()
                .forEach((kind, names) -> text.append("| %s | `%s` |\n".formatted(kind, names.replace(",", "`, `"))));
        GeneratedSection.assertSection(
                Path.of("src/site/markdown/install.md"),
                "ssh-algorithms",
                text.append('\n').toString());
    }

    /** A server with one algorithm of one kind. Debian 12 has no sshd with the first key exchange: see {@link SshConnectionTest}. */
    @Test
    void logsInWithEachAlgorithm() throws Exception {
        var kinds = Map.of(
                "key exchange", "KexAlgorithms", "cipher", "Ciphers", "MAC", "MACs", "host key", "HostKeyAlgorithms");
        var address = host.target().split(":", -1);
        for (var kind : algorithms().entrySet()) {
            for (var name : kind.getValue().split(",", -1)) {
                if (name.startsWith("mlkem") || !kinds.containsKey(kind.getKey())) {
                    continue;
                }
                host.stop();
                var key = name.startsWith("ecdsa")
                        ? "ecdsa -b " + name.substring(name.length() - 3)
                        : name.startsWith("rsa") ? "rsa" : "ed25519";
                host.newHostKey(key.split(" ", -1));
                host.configure(kinds.get(kind.getKey()) + " " + name
                        + (kind.getKey().equals("MAC") ? "\nCiphers aes128-ctr" : ""));
                host.start();
                assertReached(connect(
                        access(new SshSettings(
                                "root",
                                hosts.identity(),
                                null,
                                null,
                                null,
                                writeKnownHosts("[%s]:%s %s\n".formatted(address[0], address[1], host.hostKey())),
                                HANG)),
                        host.target()));
            }
        }
    }

    /** As one that waits for its user does. */
    @Test
    void givesUpAnAgentThatDoesNotAnswer() throws Exception {
        var socket = directory.resolve("agent");
        try (var listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            listener.bind(UnixDomainSocketAddress.of(socket));
            var connected = connect(access(agentSettings(socket, Duration.ofSeconds(10))), host.target());
            assertRefused(connected, ProblemCode.CONNECT_TIMEOUT);
            try (var query = listener.accept()) {
                var received = ByteBuffer.allocate(100);
                while (query.read(received) >= 0) {
                    received.clear(); // up to its end: nobody is left waiting
                }
            }
        }
    }

    private SshSettings agentSettings(Path socket, Duration timeout) {
        return new SshSettings("root", null, null, null, socket, hosts.knownHosts(), timeout);
    }

    /** Returns the line of authorized_keys. ssh-keygen of Debian 12 converts no Ed25519 key. */
    private static String opensshKey(Path identity, String... passphrase) throws IOException {
        var pem = identity.resolveSibling("pem.pub");
        var command = new ArrayList<>(
                List.of("openssl", "pkey", "-in", identity.toString(), "-pubout", "-out", pem.toString()));
        command.addAll(List.of(passphrase));
        Programs.run(command);
        if (!Programs.run("openssl", "pkey", "-pubin", "-in", pem.toString(), "-noout", "-text")
                .startsWith("ED25519")) {
            return Programs.run("ssh-keygen", "-i", "-m", "PKCS8", "-f", pem.toString());
        }
        var content = Base64.getMimeDecoder().decode(Files.readString(pem).replaceAll("-----.*-----", ""));
        var key = new byte[51];
        System.arraycopy("\0\0\0\013ssh-ed25519\0\0\0\040".getBytes(StandardCharsets.US_ASCII), 0, key, 0, 19);
        System.arraycopy(content, content.length - 32, key, 19, 32);
        return "ssh-ed25519 " + Base64.getEncoder().encodeToString(key);
    }

    private static String publicKey(Path key) throws IOException {
        return Files.readString(key.resolveSibling(key.getFileName() + ".pub")).strip();
    }
}
