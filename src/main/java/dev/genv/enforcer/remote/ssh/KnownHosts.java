package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.HostKey;
import com.jcraft.jsch.HostKeyRepository;
import com.jcraft.jsch.UserInfo;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The host keys from one or several known_hosts files. The service reads them and never adds a key. */
public record KnownHosts(String name, List<HostKeyRepository> files) implements HostKeyRepository {
    /** Whether the files contain a key of this host. */
    public boolean knows(String host) {
        return Stream.of(getHostKey(host, null))
                .anyMatch(each -> each.getMarker().isEmpty());
    }

    /** Revoked keys count as known here, because JSch checks the markers of a known key afterwards. */
    @Override
    public int check(String host, byte[] key) {
        if (revoked().anyMatch(each -> each.getKey().equals(Base64.getEncoder().encodeToString(key)))) {
            return OK;
        }
        var answers = files.stream().map(each -> each.check(host, key)).toList();
        if (answers.contains(OK)) {
            return OK;
        }
        return answers.contains(CHANGED) ? CHANGED : NOT_INCLUDED;
    }

    /** A revoked key is revoked for every host: such lines usually have a host pattern, which JSch does not support. */
    @Override
    public HostKey[] getHostKey(@Nullable String host, @Nullable String type) {
        var known = files.stream().flatMap(each -> Stream.of(each.getHostKey(host, type)));
        // Without a type, JSch asks which key types it should request.
        var all = type == null ? known : Stream.concat(known, revoked()).distinct();
        return all.toArray(HostKey[]::new);
    }

    private Stream<HostKey> revoked() {
        return files.stream()
                .flatMap(each -> Stream.of(each.getHostKey()))
                .filter(each -> each.getMarker().equals("@revoked"));
    }

    @Override
    public HostKey[] getHostKey() {
        return getHostKey(null, null);
    }

    @Override
    public String getKnownHostsRepositoryID() {
        return name;
    }

    @Override
    public void add(HostKey key, @Nullable UserInfo user) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void remove(String host, String type) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void remove(String host, String type, byte @Nullable [] key) {
        throw new UnsupportedOperationException();
    }
}
