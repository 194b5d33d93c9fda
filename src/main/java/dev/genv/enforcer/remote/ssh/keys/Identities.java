package dev.genv.enforcer.remote.ssh.keys;

import com.jcraft.jsch.Identity;
import com.jcraft.jsch.IdentityRepository;
import java.util.List;
import java.util.Vector;

/** Private keys to log in with, in the order of use. */
final class Identities implements IdentityRepository {
    private final List<Identity> keys;

    Identities(List<Identity> keys) {
        this.keys = List.copyOf(keys);
    }

    /** Returns a new list each time, because JSch locks it during a login. */
    @Override
    @SuppressWarnings("JdkObsolete") // required by JSch
    public Vector<Identity> getIdentities() {
        return new Vector<>(keys);
    }

    @Override
    public String getName() {
        return "keys of the fleet";
    }

    @Override
    public int getStatus() {
        return RUNNING;
    }

    @Override
    public boolean add(byte[] identity) {
        return false;
    }

    @Override
    public boolean remove(byte[] blob) {
        return false;
    }

    @Override
    public void removeAll() {
        throw new UnsupportedOperationException();
    }
}
