package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

class CgroupRootTest {
    private final FakeProc fake;
    private Path top;

    CgroupRootTest(@TempDir Path folder) {
        fake = new FakeProc(folder);
        top = folder.resolve("1/root/sys/fs/cgroup");
    }

    @BeforeEach
    void createCgroups() throws IOException {
        fake.cgroupNamespace(4026532000L);
        Files.createDirectories(top.resolve("kubepods.slice/pod1/c1"));
        Files.createDirectories(top.resolve("kubepods.slice/pod2/c2"));
        Files.createFile(top.resolve("kubepods.slice/cgroup.procs"));
    }

    /** The own root cgroup is mounted in the container. */
    private Reading<String> read(String own) throws IOException {
        var mount = fake.root().resolve("self/root/sys/fs");
        Files.createDirectories(mount);
        Files.deleteIfExists(mount.resolve("cgroup"));
        Files.createSymbolicLink(mount.resolve("cgroup"), top.resolve(own));
        return new CgroupRoot(fake.root()).read();
    }

    @Test
    void isTheDirectoryWithTheSameInode() throws IOException {
        assertThat(read("kubepods.slice/pod2/c2")).isEqualTo(Reading.of("/kubepods.slice/pod2/c2"));
        assertThat(read("")).isEqualTo(Reading.of("/"));
    }

    @Test
    void isNotSearchedInTheFirstNamespace() throws IOException {
        fake.cgroupNamespace(4026531835L);
        assertThat(new CgroupRoot(fake.root()).read()).isEqualTo(Reading.of("/"));
    }

    @Test
    void isUnknownIfItIsNotFoundOrNotShown() throws IOException {
        assertThat(new CgroupRoot(fake.root()).read()).isInstanceOf(Reading.Failed.class);
        Files.createDirectory(top.resolve("../other"));
        assertThat(read("../other")).extracting("failure").isEqualTo(Failure.ABSENT);
    }

    /** A user could create millions, and the search would never end. */
    @Test
    @EnabledIfSystemProperty(named = "user.name", matches = "root")
    void isNotSearchedBelowDirectoriesOfUsers() throws IOException {
        Files.setAttribute(top.resolve("kubepods.slice"), "unix:uid", 1003);
        assertThat(read("kubepods.slice/pod2/c2")).extracting("failure").isEqualTo(Failure.ABSENT);
    }

    @Test
    void isFoundOnce() throws IOException {
        assertThat(read("kubepods.slice/pod1/c1")).isInstanceOf(Reading.Value.class);
        var root = new CgroupRoot(fake.root());
        var first = root.read();
        Files.delete(top.resolve("kubepods.slice/pod1/c1"));
        assertThat(root.read()).isEqualTo(first);
    }
}
