package dev.genv.enforcer.testsupport.fake;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows over a fake prove something only if the fake has the shape of the kernel's files. */
class FakeProcTest {
    private static final Path KERNEL = Path.of("/proc");
    private static final Pattern KEY = Pattern.compile("(?m)^(\\w+):");

    @TempDir
    private Path folder;

    @Test
    void hasLinksDirectoriesAndFilesWhereTheKernelHasThem() throws IOException {
        var proc = new FakeProc(folder);
        try (var child = Child.inEnvironment("4711")) {
            var fake = proc.process(child.pid()).thread(child.pid()).file("");
            proc.mountNamespace("self", 1).mounts("self", "").writeSelf("0", "unconfined");
            proc.hostRoot();
            proc.writeUptime(1);
            for (var name : List.of(
                    "self",
                    "uptime",
                    "devices",
                    "1",
                    "1/root",
                    "self/ns",
                    "self/ns/mnt",
                    "self/status",
                    "self/mountinfo")) {
                assertThat(type(folder.resolve(name))).as(name).isEqualTo(type(KERNEL.resolve(name)));
            }
            try (var files = Files.walk(fake)) {
                assertThat(files).allSatisfy(file -> {
                    var name = folder.relativize(file).toString();
                    assertThat(type(file)).as(name).isEqualTo(type(KERNEL.resolve(name)));
                });
            }
        }
    }

    @Test
    void showsZerosInStatWhereTheKernelShowsThem() throws IOException {
        try (var child = Child.inEnvironment("4711")) {
            var kernel = fields(KERNEL.resolve(child.pid() + "/stat"));
            var fake = fields(new FakeProc(folder).process(child.pid()).file("stat"));
            assertThat(fake).hasSameSizeAs(kernel);
            for (var field : List.of(4, 20, 22, 45, 46, 47, 48, 49, 50, 51)) {
                assertThat(fake[field - 3].equals("0")).as("field %d", field).isEqualTo(kernel[field - 3].equals("0"));
            }
        }
    }

    @Test
    void hasTheLinesOfStatusInTheOrderOfTheKernel() throws IOException {
        try (var child = Child.inEnvironment("4711")) {
            var fake = keys(new FakeProc(folder).process(child.pid()).file("status"));
            assertThat(keys(KERNEL.resolve(child.pid() + "/status"))).containsSubsequence(fake);
        }
    }

    private static String type(Path file) throws IOException {
        var attributes = Files.readAttributes(file, "isSymbolicLink,isDirectory", LinkOption.NOFOLLOW_LINKS);
        return attributes.toString();
    }

    private static String[] fields(Path stat) throws IOException {
        var text = Files.readString(stat);
        return text.substring(text.lastIndexOf(')') + 2).strip().split(" ");
    }

    private static List<String> keys(Path status) throws IOException {
        return KEY.matcher(Files.readString(status))
                .results()
                .map(match -> match.group(1))
                .toList();
    }
}
