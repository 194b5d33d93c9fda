package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.options.ClientCertificate;
import com.microsoft.playwright.options.HttpCredentials;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The page behind a real nginx with a login of its own, with which every request of the page must be sent. */
@Tag("long")
class PageProxyIT extends PageSuite {
    private static final Path NGINX = Path.of("/usr/sbin/nginx");
    private static final String TOKEN = "correct-horse.battery~staple";

    private Process nginx;

    @AfterEach
    void stopNginx() throws InterruptedException {
        if (nginx != null) {
            nginx.destroy();
            nginx.waitFor();
        }
    }

    @Test
    void pageWorksBehindABasicLogin() throws IOException {
        Files.writeString(directory.resolve("users"), "alice:{PLAIN}secret\n");
        var origin = "http://127.0.0.1:" + startNginx("", """
            auth_basic "GPUs";
            auth_basic_user_file %s/users;
            """.formatted(directory));
        assertPageFollowsTheService(origin, options().setHttpCredentials(new HttpCredentials("alice", "secret")));
    }

    @Test
    void pageWorksBehindClientCertificates() throws IOException {
        Requirements.program("/usr/bin/openssl", "openssl");
        var key = directory.resolve("key").toString();
        var certificate = directory.resolve("pem").toString();
        Programs.run(List.of(
                "openssl",
                "req",
                "-x509",
                "-nodes",
                "-newkey",
                "rsa:2048",
                "-subj",
                "/CN=127.0.0.1",
                "-keyout",
                key,
                "-out",
                certificate));
        var origin = "https://127.0.0.1:" + startNginx(" ssl", """
            ssl_certificate %1$s/pem;
            ssl_certificate_key %1$s/key;
            ssl_client_certificate %1$s/pem;
            ssl_verify_client on;
            """.formatted(directory));
        var client = new ClientCertificate(origin)
                .setCertPath(directory.resolve("pem"))
                .setKeyPath(directory.resolve("key"));
        assertPageFollowsTheService(
                origin, options().setIgnoreHTTPSErrors(true).setClientCertificates(List.of(client)));
    }

    /** The proxy adds the token of the service, which the page does not know. */
    private int startNginx(String listen, String login) throws IOException {
        Requirements.program(NGINX.toString(), "nginx-light");
        node.set("API_TOKEN_FILE", Files.writeString(directory.resolve("token"), TOKEN))
                .set("NON_ENV_PROCESSES", "audit");
        var service = startService().port();
        int port;
        try (var reserved = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = reserved.getLocalPort();
        }
        var config = Files.writeString(directory.resolve("nginx.conf"), """
            daemon off;
            %7$s
            worker_processes 1;
            error_log stderr;
            pid %1$s/nginx.pid;
            events {}
            http {
              access_log off;
              client_body_temp_path %1$s/body;
              proxy_temp_path %1$s/proxy;
              fastcgi_temp_path %1$s/fastcgi;
              uwsgi_temp_path %1$s/uwsgi;
              scgi_temp_path %1$s/scgi;
              server {
                listen 127.0.0.1:%2$d%3$s;
                %4$s
                location / {
                  proxy_pass http://127.0.0.1:%5$d;
                  proxy_set_header Host $http_host;
                  proxy_set_header Authorization "Bearer %6$s";
                }
              }
            }
            """.formatted(
                        directory, port, listen, login, service, TOKEN, CurrentProcess.isRoot() ? "user root;" : ""));
        nginx = new ProcessBuilder(NGINX.toString(), "-e", "stderr", "-c", config.toString())
                .inheritIO()
                .start();
        await().until(() -> !nginx.isAlive() || isOpen(port));
        return port;
    }

    private static boolean isOpen(int port) {
        try (var _ = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private void assertPageFollowsTheService(String origin, Browser.NewContextOptions options) throws IOException {
        var window = openWindow(origin, options);
        window.open("#/violations");
        assertThat(window.heading()).hasText("Violations");
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            window.awaitText("main", "Process %d is not running".formatted(stray.pid()));
        }
        window.open("#/plan");
        window.page().getByLabel("non-env-processes").check();
        window.button("Show what it would do").click();
        assertThat(window.page().locator("#plan-result")).isVisible();
    }
}
