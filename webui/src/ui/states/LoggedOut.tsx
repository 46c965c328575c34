/** Shown in place of a page whose request was refused for lack of a session. */
export { SignIn as LoggedOut } from '../../app/SignIn.tsx';
