package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.Identity;
import com.jcraft.jsch.IdentityRepository;
import java.util.List;
import java.util.Vector;

/** Private keys to log in with, in the order in which they are tried. */
final class KeyBunch implements IdentityRepository {
    private final List<Identity> keys;

    KeyBunch(List<Identity> keys) {
        this.keys = List.copyOf(keys);
    }

    /** A new list each time: JSch locks it while it speaks with one server. */
    @Override
    @SuppressWarnings("JdkObsolete") // JSch wants one
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
