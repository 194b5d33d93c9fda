package dev.genv.enforcer.policyfile;

import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.FileTree.Step;
import dev.genv.enforcer.linux.FileTree.TrustedOwners;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import dev.genv.enforcer.linux.WatchedFile;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policyfile.PolicyReader.InvalidPolicyException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** A policy file that only root and the user of this service can change. It is read again after a change, once it is no longer written. */
public final class PolicyFile {
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

    private final Path path;
    private final WatchedFile<Content> file;

    public PolicyFile(Path path, ZoneId zone) {
        this.path = path;
        file = new WatchedFile<>(
                this::locate,
                PolicyReader.LARGEST,
                (at, status) -> TrustedOwners.ofThisService().check(Step.FILE, at, status.uid(), status.mode()),
                bytes -> Content.of(() -> PolicyReader.read(bytes, zone)));
    }

    /** What a file has, so that an invalid one is read once, too. */
    record Content(
            @Nullable PolicyDocument document, @Nullable IOException error) {
        static Content of(Callable<PolicyDocument> reading) {
            try {
                return new Content(reading.call(), null);
            } catch (InvalidPolicyException e) {
                return new Content(null, e);
            } catch (Exception | StackOverflowError e) { // the service continues with the last valid content
                return new Content(null, new IOException("it cannot be read: " + e, e));
            }
        }

        PolicyDocument get() throws IOException {
            if (error != null) {
                throw error;
            }
            return Objects.requireNonNull(document);
        }
    }

    /** Returns the present policy. An exception tells why the file cannot be used. */
    public PolicyDocument current() throws IOException {
        return file.current().get();
    }

    /** The same; empty while the file is being written. */
    public Optional<PolicyDocument> currentIfSettled(Instant when) throws IOException {
        var content = file.currentIfSettled(when);
        return content.isEmpty() ? Optional.empty() : Optional.of(content.get().get());
    }

    private Path locate() throws IOException {
        var owners = TrustedOwners.ofThisService();
        return OWN_FILES.follow(path, (step, at) -> {
            try {
                owners.inspect(step, at);
            } catch (UntrustedException e) {
                if (!isFolderOfAVolume(step, at, owners)) {
                    throw e;
                }
            }
        });
    }

    /**
     * Kubernetes gives the folder of a ConfigMap mode 0777, and mounts it so that nobody can write there. The file system of the root may
     * look read-only to this service alone, for example with {@code ProtectSystem=strict} of systemd.exec(5).
     */
    private static boolean isFolderOfAVolume(Step step, Path at, TrustedOwners owners) throws IOException {
        return (step == Step.FOLDER || step == Step.FOLDER_ABOVE)
                && owners.uids().contains(Integer.toUnsignedLong((int) Files.getAttribute(at, "unix:uid")))
                && !Files.getAttribute(at, "unix:dev").equals(Files.getAttribute(OWN_FILES.root(), "unix:dev"))
                && Files.getFileStore(at).isReadOnly();
    }
}
